echo "Hello, ${1:-World}!"
