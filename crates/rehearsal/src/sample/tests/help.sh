. tests/expect.sh
expect "bye hello help hola shout version" help
