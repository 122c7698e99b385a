//! Who is let in, and who is not.

use std::io::Write;

use serde_json::json;

use super::client::{login_code, token};
use super::{Http, Login};
use crate::harness::{TestHome, wait_for};

/// Calls an operation as a page does, each header to be left out or changed.
fn call(http: &Http, login: &Login, changes: &[(&str, Option<&str>)]) -> (u16, String) {
    let origin = http.origin();
    let usual = [
        ("cookie", login.cookie.as_str()),
        ("origin", origin.as_str()),
        ("x-mission-csrf", login.csrf.as_str()),
        ("content-type", "application/json"),
    ];
    let mut headers: Vec<_> = usual
        .into_iter()
        .filter(|(name, _)| !changes.iter().any(|(changed, _)| changed == name))
        .collect();
    headers.extend(
        changes
            .iter()
            .filter_map(|(name, value)| Some((*name, (*value)?))),
    );
    let answer = http.send("POST", "/api/v1/ops/health", &headers, b"{}");
    match answer.status {
        200 => (200, String::new()),
        status => (status, answer.code()),
    }
}

#[test]
fn a_link_logs_one_browser_in_once() {
    let home = TestHome::started();
    let http = Http::of(&home);
    let code = login_code(&home);
    let answer = http.show_code(&code);
    assert_eq!(answer.status, 204);
    let cookie = answer.header("set-cookie").unwrap();
    let (secret, flags) = cookie.split_once(';').unwrap();
    assert!(
        secret.starts_with("mission_session=") && secret.len() > 50,
        "{cookie}"
    );
    assert_eq!(flags, " HttpOnly; SameSite=Strict; Path=/; Max-Age=2592000");

    let again = http.show_code(&code);
    assert_eq!(
        (again.status, again.code().as_str()),
        (401, "unauthenticated")
    );
    assert_eq!(again.header("set-cookie"), None);
    let login = http.log_in(&home);
    assert_eq!(call(&http, &login, &[]), (200, String::new()));
}

#[test]
fn guessing_codes_is_slowed_and_keeps_nobody_out() {
    let home = TestHome::started();
    let http = Http::of(&home);
    let mut slowed = None;
    wait_for("a guess to be one too many", || {
        let answer = http.show_code("guess");
        assert!([401, 429].contains(&answer.status), "{answer:?}");
        slowed = (answer.status == 429).then_some(answer);
        slowed.is_some()
    });
    let slowed = slowed.unwrap();
    assert_eq!(slowed.code(), "rate_limited");
    assert_eq!(slowed.header("retry-after"), Some("1"));
    http.log_in(&home);
}

#[test]
fn a_browser_must_show_cookie_page_and_word() {
    let home = TestHome::started();
    let http = Http::of(&home);
    let login = http.log_in(&home);
    assert_eq!(call(&http, &login, &[]).0, 200);
    let other_port = format!("http://{}1", http.address);
    let another = "mission_session=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    let tossed = format!("{another}; {}", login.cookie);
    assert_eq!(
        call(&http, &login, &[("cookie", Some(tossed.as_str()))]).0,
        200
    );
    for (changes, status, code) in [
        ([("cookie", None)], 401, "unauthenticated"),
        ([("cookie", Some(another))], 401, "unauthenticated"),
        ([("origin", None)], 403, "forbidden"),
        ([("origin", Some("http://evil.example"))], 403, "forbidden"),
        ([("origin", Some(other_port.as_str()))], 403, "forbidden"),
        ([("origin", Some("null"))], 403, "forbidden"),
        ([("x-mission-csrf", None)], 403, "forbidden"),
        ([("x-mission-csrf", Some("wrong"))], 403, "forbidden"),
        ([("host", Some("evil.example"))], 403, "forbidden"),
        ([("sec-fetch-site", Some("cross-site"))], 403, "forbidden"),
        (
            [("content-type", Some("text/plain"))],
            415,
            "invalid_request",
        ),
    ] {
        let refused = call(&http, &login, &changes);
        assert_eq!(refused, (status, code.to_owned()), "{changes:?}");
    }
}

#[test]
fn a_session_and_a_token_outlive_the_daemon_at_the_same_port() {
    let home = TestHome::started();
    let http = Http::of(&home);
    let login = http.log_in(&home);
    let token = token(&home, "ci");
    home.kill();
    home.start();
    assert_eq!(Http::of(&home).address, http.address);
    assert_eq!(call(&http, &login, &[]).0, 200);
    assert_eq!(http.call(&token, "health", &json!({})).status, 200);
    // A code is for minutes and is not stored.
    let code = login_code(&home);
    home.kill();
    home.start();
    assert_eq!(http.show_code(&code).status, 401);
}

#[test]
fn what_was_taken_back_lets_nobody_in() {
    let home = TestHome::started();
    let http = Http::of(&home);
    let (first, second) = (http.log_in(&home), http.log_in(&home));
    let token = token(&home, "ci");
    let refused = home.failure(&["token", "create", "ci"]);
    assert_eq!(refused.0, 5, "{}", refused.1);
    let listed = home.json(&["token", "list"]);
    let kinds: Vec<_> = listed["access"]
        .as_array()
        .unwrap()
        .iter()
        .map(|a| &a["kind"])
        .collect();
    assert_eq!(kinds, ["session", "session", "token"]);
    assert!(!listed.to_string().contains(&token));

    home.json(&["token", "revoke", "ci"]);
    let answer = http.call(&token, "health", &json!({}));
    assert_eq!(
        (answer.status, answer.code().as_str()),
        (401, "unauthenticated")
    );
    assert_eq!(home.failure(&["token", "revoke", "ci"]).0, 4);

    let id = listed["access"][0]["id"].as_str().unwrap();
    home.json(&["token", "revoke", id]);
    assert_eq!(call(&http, &first, &[]).0, 401);
    assert_eq!(call(&http, &second, &[]).0, 200);
    let origin = http.origin();
    let headers = [
        ("cookie", second.cookie.as_str()),
        ("origin", origin.as_str()),
        ("x-mission-csrf", second.csrf.as_str()),
    ];
    let out = http.send("DELETE", "/api/v1/session", &headers, b"");
    assert_eq!(out.status, 204);
    assert!(out.header("set-cookie").unwrap().ends_with("Max-Age=0"));
    assert_eq!(call(&http, &second, &[]).0, 401);
}

#[test]
fn a_token_expires() {
    let home = TestHome::started();
    let http = Http::of(&home);
    let created = home.json(&["token", "create", "short", "--expires", "1s"]);
    let token = created["token"].as_str().unwrap();
    wait_for("the token to expire", || {
        http.call(token, "health", &json!({})).status == 401
    });
}

#[test]
fn what_lets_others_in_is_for_a_person_alone() {
    let home = TestHome::started();
    let http = Http::of(&home);
    let token = token(&home, "ci");
    for operation in ["web_login", "token_create"] {
        let answer = http.call(&token, operation, &json!({"name": "more"}));
        assert_eq!((answer.status, answer.code().as_str()), (403, "forbidden"));
    }
    let document = http.get(
        "/api/v1/openapi.json",
        &[("authorization", &format!("Bearer {token}"))],
    );
    let paths = &document.json()["paths"];
    assert!(paths["/api/v1/ops/board_list"].is_object());
    assert!(paths["/api/v1/ops/token_create"].is_null());
}

#[test]
fn two_hundred_silent_strangers_keep_nobody_out() {
    let home = TestHome::started();
    let http = Http::of(&home);
    let login = http.log_in(&home);
    let held: Vec<_> = (0..200)
        .map(|_| {
            let mut stream = http.connect();
            let head = b"POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Le";
            stream.write_all(head).unwrap();
            stream
        })
        .collect();
    assert_eq!(call(&http, &login, &[]).0, 200);
    http.log_in(&home);
    drop(held);
}

#[test]
fn a_public_address_needs_a_word_of_its_own() {
    let home = TestHome::with_config("[http]\nlisten = \"0.0.0.0:0\"\n");
    let (code, message) = home.failure(&["daemon", "start"]);
    assert_eq!(code, 7, "{message}");
    assert!(message.contains("http.allow_public"), "{message}");
    home.write_config(
        "[http]\nlisten = \"0.0.0.0:0\"\nallow_public = true\nhosts = [\"board.example\"]\n",
    );
    home.start();
    let port = Http::of(&home)
        .address
        .rsplit_once(':')
        .unwrap()
        .1
        .to_owned();
    let http = Http {
        address: format!("127.0.0.1:{port}"),
    };
    let token = token(&home, "scraper");
    assert_eq!(
        http.get("/healthz", &[("host", "board.example")]).status,
        200
    );
    assert_eq!(
        http.get("/metrics", &[]).status,
        401,
        "others could read it"
    );
    let bearer = format!("Bearer {token}");
    assert_eq!(
        http.get("/metrics", &[("authorization", &bearer)]).status,
        200
    );
    http.log_in(&home);
}
