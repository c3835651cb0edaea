# Wants a clean build, and has a variable that is empty.
rm -rf "$BUILD_DIRECTORY"./*
make test
