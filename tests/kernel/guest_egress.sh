# Runs inside a guest: granted hosts are reached over this kernel's nf_tables, over IPv4 and IPv6,
# with complete answers, and others are not.
. /guest/check.sh
work=/srv/egress  # sandboxes see it
mkdir -p $work/www
chmod 755 /srv $work $work/www
shown="$work/out $work/err $work/heard"
mkdir -m 700 /run/user-1000
chown 1000:1000 /run/user-1000
dd if=/dev/urandom of=$work/www/large bs=1M count=64 2> /dev/null
echo hello > $work/www/hello
chmod 644 $work/www/*
sum=$(md5sum < $work/www/large)
printf '#!/bin/sh\nmd5sum > %s/got\n' $work > $work/take
chmod 755 $work/take
for port in 8080 8081; do
  httpd -f -vv -p 127.0.0.1:$port -h $work/www 2>> $work/heard &
done
httpd -f -p '[::1]:8080' -h $work/www 2>> $work/heard &

run() {  # run OPTIONS COMMAND: status, $work/out and $work/err of one `cloche run`, by $who
  printf '%s\n' "$2" > $work/command
  case $who in
    root) timeout 100 sh -c "cd; cloche run $1 -- sh $work/command" ;;
    user) timeout 100 su user -c "cd; export CLOCHE_RUNTIME_DIR=/run/user-1000; cloche run $1 -- sh $work/command" ;;
  esac > $work/out 2> $work/err
  status=$?
}
# The addresses that the name has inside, one of each family.
addresses='nslookup host.cloche | awk "/^Name/ {getline; print \$NF}"'
in_url='case $to in *:*) at="[$to]" ;; *) at=$to ;; esac'
# Prints to the log how large the packets on the sandbox's lo were.
mean='awk "/lo:/ {print \"packets of\", int(\$2 / \$3), \"bytes on average\"}" /proc/net/dev >&2'

for who in root user; do
  : > $work/heard
  run '' 'wget -qO- http://host.cloche:8080/hello'
  check "$who: nothing is granted, nothing is reached" [ $status != 0 ]
  run '--allow tcp://host.cloche:8080' 'wget -qO- http://host.cloche:8081/hello'
  check "$who: another port is not" [ $status != 0 ]
  check "$who: and that is reported" grep -q 'blocked: host.cloche:8081' $work/err
  run '--allow tcp://host.cloche:8080' 'wget -qO- http://127.0.0.1:8080/hello'
  check "$who: this machine's loopback is not the sandbox's" [ $status != 0 ]
  check "$who: the server heard of none of it" [ ! -s $work/heard ]
  run '--allow tcp://host.cloche:8080' 'tftp -g -r x -l - 198.18.0.7 69'
  check "$who: UDP is refused, and that is reported" grep -q 'blocked: UDP to 198.18.0.7:69' $work/err

  for kind in tcp http; do
    run "--allow $kind://host.cloche:8080" 'wget -qO- http://host.cloche:8080/hello'
    check "$who: a host granted as $kind is reached" [ "$(cat $work/out)" = hello ]
  done
  check "$who: the server heard it" grep -q 'url:/hello' $work/heard
  run '--allow http://host.cloche:8080' "wget -qO- http://host.cloche:8080/large | md5sum; $mean"
  check "$who: 64 MiB come in whole as a request" [ "$(cat $work/out)" = "$sum" ]
  grep -o 'packets of.*' $work/err

  run '--allow tcp://host.cloche:8080' "$addresses"
  check "$who: a name has an address of each family" [ "$(grep -c : $work/out) $(grep -c '\.' $work/out)" = '1 1' ]
  for family in IPv4 IPv6; do
    of_family='grep :'
    [ $family = IPv6 ] || of_family='grep -v :'
    run '--allow tcp://host.cloche:8080' \
      "to=\$($addresses | $of_family); $in_url; wget -qO- http://\$at:8080/large | md5sum; $mean"
    check "$who: 64 MiB come in whole over $family" [ "$(cat $work/out)" = "$sum" ]
    grep -o 'packets of.*' $work/err
    timeout 100 nc -l -p 8082 -e $work/take &
    listener=$!
    until grep -q ':1F92 0*:0000 0A' /proc/net/tcp /proc/net/tcp6; do usleep 50000; done
    run '--allow tcp://host.cloche:8082' "to=\$($addresses | $of_family); nc \$to 8082 < $work/www/large; $mean"
    wait $listener
    check "$who: and go out whole" [ "$(cat $work/got)" = "$sum" ]
    grep -o 'packets of.*' $work/err
  done
done

[ $failures = 0 ] || { echo "$failures failed"; exit 1; }
echo "all passed on $(uname -r)"
