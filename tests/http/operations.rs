//! Operations over HTTP: the same results and refusals as on the socket.

use serde_json::{Value, json};

use super::Http;
use super::client::token;
use crate::harness::{TestHome, wait_for};

#[test]
fn an_operation_does_over_http_what_it_does_on_the_socket() {
    let home = TestHome::started();
    let http = Http::of(&home);
    let token = token(&home, "ci");
    let noted = http.call(&token, "timeline_note", &json!({"text": "over http"}));
    assert_eq!(noted.status, 200);
    assert_eq!(noted.header("content-type"), Some("application/json"));
    assert_eq!(noted.header("cache-control"), Some("no-store"));
    let texts: Vec<Value> = home
        .events()
        .iter()
        .map(|e| e["event"]["text"].clone())
        .collect();
    assert!(texts.contains(&json!("over http")), "{texts:?}");
    let page = home.json(&["call", "timeline_query", "{\"limit\": 3}"]);
    let over_http = http.call(&token, "timeline_query", &json!({"limit": 3}));
    assert_eq!(over_http.json(), page);
    let path = "/api/v1/ops/health";
    let bearer = format!("Bearer {token}");
    let empty = http.send("POST", path, &[("authorization", &bearer)], b"");
    assert_eq!(empty.json()["healthy"], true);
}

#[test]
fn whoever_shows_a_token_is_no_person() {
    let home = TestHome::started();
    let http = Http::of(&home);
    let token = token(&home, "ci");
    let draft = |tier: &str| json!({"summary": "said by a program", "tier": tier});
    let refused = http.call(&token, "kb_remember", &draft("person"));
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (403, "forbidden")
    );
    let taken = http.call(&token, "kb_remember", &draft("machine"));
    assert_eq!(taken.json()["entry"]["tier"], "machine");
    let persons = home.json(&["kb", "remember", "said by a person"]);
    let [from, to] = [&taken.json(), &persons].map(|one| one["entry"]["id"].clone());
    let link = json!({"from": from, "to": to, "kind": "supersedes"});
    let refused = http.call(&token, "kb_link", &link);
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (403, "forbidden")
    );
    assert_eq!(
        home.json(&["call", "kb_link", &link.to_string()])["kind"],
        "supersedes"
    );
}

#[test]
fn a_refusal_has_the_status_and_the_code_that_fit() {
    let home = TestHome::started();
    let http = Http::of(&home);
    let token = token(&home, "ci");
    let bearer = format!("Bearer {token}");
    let refused = |operation: &str, params: Value| {
        let answer = http.call(&token, operation, &params);
        (answer.status, answer.code())
    };
    for (operation, params, status, code) in [
        ("helth", json!({}), 404, "unknown_operation"),
        ("health", json!({"x": 1}), 400, "invalid_params"),
        ("health", json!([1]), 400, "invalid_params"),
        ("slot_read", json!({"slot": "none"}), 404, "not_found"),
    ] {
        assert_eq!(
            refused(operation, params),
            (status, code.to_owned()),
            "{operation}"
        );
    }
    let broken = http.send(
        "POST",
        "/api/v1/ops/health",
        &[("authorization", &bearer)],
        b"{",
    );
    assert_eq!(
        (broken.status, broken.code().as_str()),
        (400, "invalid_request")
    );
    let large = vec![b' '; (1 << 20) + 1];
    let large = http.send(
        "POST",
        "/api/v1/ops/health",
        &[("authorization", &bearer)],
        &large,
    );
    assert_eq!((large.status, large.code().as_str()), (413, "too_large"));
    let nobody = http.send("POST", "/api/v1/ops/health", &[], &vec![b' '; 4 << 20]);
    assert_eq!(nobody.status, 401, "before its body is read");
    assert_eq!(nobody.header("www-authenticate"), Some("Bearer"));
    assert_eq!(
        http.get("/api/v1/ops/health", &[("authorization", &bearer)])
            .status,
        405
    );
    assert_eq!(http.get("/api/v1/nothing", &[]).code(), "not_found");
}

#[test]
fn one_token_that_asks_too_fast_waits_and_another_does_not() {
    let home = TestHome::with_config("[http]\nrequests_per_second = 3\n");
    home.start();
    let http = Http::of(&home);
    let (fast, other) = (token(&home, "fast"), token(&home, "other"));
    let mut refused = None;
    wait_for("one request too many", || {
        let answer = http.call(&fast, "health", &json!({}));
        refused = (answer.status == 429).then_some(answer);
        refused.is_some()
    });
    let refused = refused.unwrap();
    assert_eq!(refused.code(), "rate_limited");
    assert!(
        refused.json()["error"]["data"]["retry_after_ms"]
            .as_u64()
            .unwrap()
            > 0
    );
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(http.call(&other, "health", &json!({})).status, 200);
}

#[test]
fn every_answer_says_what_a_browser_may_do_with_it() {
    let home = TestHome::started();
    let http = Http::of(&home);
    for (path, host) in [
        ("/healthz", http.address.as_str()),
        ("/api/v1/session", http.address.as_str()),
        ("/healthz", "evil.example"),
    ] {
        let answer = http.get(path, &[("host", host)]);
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-resource-policy", "same-origin"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cache-control", "no-store"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{path} {name}");
        }
        assert_eq!(answer.header("access-control-allow-origin"), None);
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'"), "{policy}");
        assert!(!policy.contains("script-src 'self' 'unsafe"), "{policy}");
    }
}
