. tests/expect.sh
expect "Hello, Ada!" hello Ada
