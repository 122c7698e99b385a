//! A private server leaves nothing behind, however its owner ends.
#![allow(
    clippy::unwrap_used,
    reason = "these are tests: what is not as expected panics"
)]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use missiond_store::private_postgres::PrivatePostgres;

const OWNER: &str = "an_owner_that_waits_to_be_killed";

fn skipped() -> bool {
    std::env::var("MISSION_TEST_SKIP_POSTGRES").is_ok_and(|skip| skip == "1")
}

#[test]
fn dropping_it_stops_the_server_and_removes_its_folder() {
    if skipped() {
        return;
    }
    let server = PrivatePostgres::start().unwrap_or_else(|error| panic!("{error}"));
    let folder = server.folder().to_owned();
    assert!(folder.join("data/postmaster.pid").exists());
    drop(server);
    assert!(!folder.exists());
}

#[tokio::test]
async fn killing_its_owner_stops_the_server() {
    if skipped() {
        return;
    }
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args([OWNER, "--exact", "--ignored", "--nocapture"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(owner.stdout.take().unwrap()).lines();
    let url = lines
        .map_while(Result::ok)
        .find(|line| line.starts_with("postgres://"))
        .expect("the owner says where its server is");
    let config: tokio_postgres::Config = url.parse().unwrap();
    let (client, connection) = config.connect(tokio_postgres::NoTls).await.unwrap();
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        asked = client.batch_execute("SELECT 1") => asked.unwrap(),
        ended = &mut connection => panic!("{ended:?}"),
    }
    owner.kill().unwrap();
    owner.wait().unwrap();
    // The connection ends when the server does.
    let ended = tokio::time::timeout(std::time::Duration::from_secs(60), connection).await;
    assert!(ended.is_ok(), "the server lives on");
}

#[test]
#[ignore = "started and killed by the test above"]
fn an_owner_that_waits_to_be_killed() {
    let server = PrivatePostgres::start().unwrap_or_else(|error| panic!("{error}"));
    println!("\n{}", server.url());
    std::io::stdin().read_line(&mut String::new()).unwrap();
}
