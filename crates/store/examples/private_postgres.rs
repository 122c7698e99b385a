//! Starts a private PostgreSQL server, prints its URL, and keeps it until its
//! standard input ends. The test command runs its tests against it.

#![allow(clippy::print_stdout)]

use std::io::Read;

use missiond_store::private_postgres::{PrivatePostgres, PrivatePostgresError};

fn main() -> Result<(), PrivatePostgresError> {
    let server = PrivatePostgres::start()?;
    println!("{}", server.url());
    // Whatever ends the reading, an error too, ends the need for the server.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    drop(server);
    Ok(())
}
