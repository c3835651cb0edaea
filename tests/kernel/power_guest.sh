# Runs inside a guest whose plug is pulled (power.sh): reports the state that the last one left,
# then continues.
set -u
work=/home/work  # on the disk
# Everything a person can see of the tree; with "times" also of directories.
tree() {
  (cd $work && find . -mindepth 1 | sort | while read -r name; do
    if [ -L "$name" ]; then stat -c '%n link %Y' "$name"; readlink "$name"
    elif [ -d "$name" ]; then stat -c "%n %a${1:+ %Y}" "$name"
    else stat -c '%n %a %s %h %Y' "$name"; md5sum < "$name"
    fi
  done)
}
if [ -e /home/old ]; then
  cloche promotions > /run/listed 2> /run/recovered
  found=other
  ! tree times | cmp -s - /home/old || found=old
  ! tree | cmp -s - /home/new || found=new
  echo "found $found"
  [ ! -s /run/recovered ] || sed 's/^/  /' /run/recovered
  if [ $found = other ]; then
    tree times > /run/now
    diff /home/old /run/now | head -n 10 | sed 's/^/  old: /'
    tree > /run/now
    diff /home/new /run/now | head -n 10 | sed 's/^/  new: /'
  fi
fi

# Starts from the beginning: only the kernel's memory is lost.
rm -rf $work /home/old /home/new
mkdir -p $work/d/e $work/gone
for i in $(seq 12); do echo "old $i" > $work/d/f$i; done
echo x > $work/gone/x
ln -s d/f1 $work/link
find $work -mindepth 1 -exec touch -h -d @1000000000 {} +
tree times > /run/old
cd $work
cloche new --name box$$-$(date +%s) > /run/box 2> /run/err || { cat /run/err; exit 1; }
cloche exec "$(cat /run/box)" -- sh -c 'for i in $(seq 12); do echo "new text $i" > d/f$i; done; rm -r gone
  rm d/f3; mkdir d/new; for i in $(seq 20); do head -c 20000 /dev/urandom > d/new/$i; done; ln d/new/1 hard
  ln -sf d/f2 link; chmod 700 d/e' > /run/err 2>&1 || { cat /run/err; exit 1; }
cloche promote "$(cat /run/box)" $work --yes --allow-triggers > /run/out 2> /run/err || { cat /run/err; exit 1; }
tree > /run/new
cloche undo "$(grep '^pr_' /run/out)" > /dev/null 2> /run/err || { cat /run/err; exit 1; }
cp /run/old /run/new /home/
sync
echo ready
while :; do
  echo promoting
  cloche promote "$(cat /run/box)" $work --yes --allow-triggers > /run/out 2> /run/err || break
  echo promoted
  echo undoing
  cloche undo "$(grep '^pr_' /run/out)" > /dev/null 2> /run/err || break
  echo undone
done
echo "failed: $(cat /run/err)"
exit 1
