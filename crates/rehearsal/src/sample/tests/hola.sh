. tests/expect.sh
expect "Hola, Ada!" hola Ada
