. tests/expect.sh
expect "greet 1.0" version
