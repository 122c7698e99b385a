. tests/expect.sh
expect "Goodbye, Ada!" bye Ada
