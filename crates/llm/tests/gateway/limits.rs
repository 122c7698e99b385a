//! Limits of models, as they are configured, and what is on record of a wait.

use std::time::Duration;

use missiond_llm::LlmError;

use crate::room::{Act, ask_of, good, room, serve};

fn provider(url: &str, limits: &str) -> String {
    format!(
        "[[llm.providers]]\nname = \"p\"\nformat = \"chat\"\nurl = \"{url}\"\nfree = true\n\
         models = {{\"mine\" = \"big-1\"}}\nmodel_limits = [{{model = \"big*\", {limits}}}]\n"
    )
}

#[tokio::test]
async fn a_wait_for_a_model_is_on_record_with_its_limit() {
    let server = serve(vec![good()]);
    let room = room(&provider(&server.url, "requests_per_minute = 60"), &[]).await;
    let mut tries = 0;
    // The minute's requests go at once; the next one waits for a second.
    let waited = loop {
        room.ask(&["p/mine"]).await.unwrap();
        tries += 1;
        assert!(tries < 600, "nobody waited");
        let newest = room.requests().await.remove(0);
        if newest.waited_ms > 0 {
            break newest;
        }
    };
    assert!(tries > 60, "{tries}");
    assert_eq!(
        waited.waited_for.as_deref(),
        Some("`requests_per_minute` of big*"),
        "by the name that is sent"
    );
}

#[tokio::test]
async fn who_would_wait_too_long_is_told_for_what() {
    let server = serve(vec![Act::Silence]);
    let room = room(&provider(&server.url, "at_once = 1"), &[]).await;
    let llm = std::sync::Arc::clone(&room.llm);
    let first = tokio::spawn(async move {
        let ask = ask_of(&["p/big-2"], Duration::from_secs(60));
        llm.ask(&ask, &mut |_| {}).await.map(|_| ())
    });
    while server.asked.load(std::sync::atomic::Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    let ask = ask_of(&["p/big-3"], Duration::from_millis(50));
    let error = room.llm.ask(&ask, &mut |_| {}).await.unwrap_err();
    assert!(matches!(error, LlmError::Closed(_)), "{error}");
    let said = error.to_string();
    assert!(said.ends_with("it waited for `at_once` of big*"), "{said}");
    let standing = room.llm.standing().await;
    assert_eq!((standing[0].gate.running, standing[0].gate.waiting), (1, 0));
    first.abort();
}
