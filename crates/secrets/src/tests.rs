//! Every kind by its own examples, texts that only speak of secrets, and streams cut at every
//! possible place.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::kinds::Catalogue;

fn detector() -> Detector {
    Detector::new(Known::default())
}

#[test]
fn every_line_of_the_kinds_is_understood() {
    assert_eq!(Catalogue::get().unreadable, Vec::<&str>::new());
    assert!(kinds().len() >= 100, "{}", kinds().len());
    for kind in kinds() {
        let own = matches!(kind.id, "private-key" | "known-value");
        assert!(own || !kind.tests.is_empty(), "{} has no example", kind.id);
    }
}

#[test]
fn every_example_is_found_as_its_kind() {
    let detector = detector();
    let mut wrong = Vec::new();
    for kind in kinds() {
        for test in &kind.tests {
            for text in [
                test.clone(),
                format!("before {test} after"),
                format!("x = \"{test}\"\n"),
                format!("{test}\n"),
                format!("- {test},"),
            ] {
                let found = detector.scan(text.as_bytes());
                if found.len() != 1 || found[0].kind() != kind.id {
                    let found: Vec<_> = found
                        .iter()
                        .map(|f| (f.kind(), &text[f.start..f.end]))
                        .collect();
                    wrong.push(format!("{}: {text}: {found:?}", kind.id));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn no_counterexample_is_found() {
    let detector = detector();
    for kind in kinds() {
        for text in &kind.counterexamples {
            assert_eq!(
                detector.scan(text.as_bytes()),
                Vec::new(),
                "{}: {text}",
                kind.id
            );
        }
    }
}

#[test]
fn what_has_colons_like_a_password_file_is_none() {
    let detector = detector();
    for text in [
        "it takes org.example:*:jar:sources:1.20.3 and cpe:2.3:a:b:c:1.0:*:*:*:*:*:*:*",
        "ports 127.0.0.1:5432:5432 and 127.0.0.1:5433:5432:tcp",
        "it allows arn:aws:logs:eu-west-1:*:log-group:/aws/lambda:stream",
    ] {
        assert_eq!(detector.scan(text.as_bytes()), Vec::new(), "{text}");
    }
}

#[test]
fn secrets_are_masked_and_the_rest_is_kept() {
    let cases = [
        (
            "use ghp_0123456789abcdefghij now",
            "use [masked GitHub token] now",
        ),
        (
            "key sk-ant-api03-abcdefghijk1234567",
            "key [masked API key]",
        ),
        ("password = hunter2!", "password = [masked]"),
        (
            "{\"api_key\": \"abcd1efgh9\"}",
            "{\"api_key\": \"[masked]\"}",
        ),
        ("DB_PASSWORD=s3cr3tvalue;", "DB_PASSWORD=[masked];"),
        ("postgres://app:pa55@db/x", "postgres://app:[masked]@db/x"),
        (
            "Authorization: Bearer abcdef0123456789abcd",
            "Authorization: Bearer [masked]",
        ),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n-----END RSA PRIVATE KEY----- after",
            "[masked private key] after",
        ),
        (
            "\"-----BEGIN PGP PRIVATE KEY BLOCK-----\\n\\nlQOYBGRkZGQBCADEk3Xq9Lw2\\n=aB3d\\n-----END PGP PRIVATE KEY BLOCK-----\",",
            "\"[masked private key]\",",
        ),
        (
            "{\\\"token\\\": \\\"k3Xq9Lw2Rt7V\\\"}",
            "{\\\"token\\\": \\\"[masked]\\\"}",
        ),
        (
            "mysql --password k3Xq9Lw2 -h x",
            "mysql --password [masked] -h x",
        ),
        ("setPassword(\"k3Xq9Lw2\")", "setPassword(\"[masked]\")"),
        (
            "<password>k3Xq9Lw2</password>",
            "<password>[masked]</password>",
        ),
        (
            "let password: &str = \"k3Xq9Lw2\";",
            "let password: &str = \"[masked]\";",
        ),
        (
            "db.example.net:5432:app:me:k3Xq9Lw2",
            "db.example.net:5432:app:me:[masked]",
        ),
        (
            "put db.example.net:5432:app:me:k3Xq9Lw2 into it",
            "put db.example.net:5432:app:me:[masked] into it",
        ),
        (
            "{\"line\":\"*:5432:app:me:k3Xq9Lw2\"}",
            "{\"line\":\"*:5432:app:me:[masked]\"}",
        ),
        (
            "passphrase=\"correct horse battery\"",
            "passphrase=\"[masked]\"",
        ),
    ];
    for (text, expected) in cases {
        let masked = mask(text);
        assert_eq!((masked.as_str(), masked.secrets()), (expected, 1), "{text}");
    }
}

#[test]
fn what_only_speaks_of_secrets_is_kept() {
    let cases = [
        "the token: it is read from a file",
        "password=${DB_PASSWORD}",
        "sk-learn is a library",
        "https://example.com/path@1.0",
        "secret santa",
        "the access token expires after 3600 s",
        "password: String,",
        "let token = self.tokens.next();",
        "fn password(&self) -> Option<&str> {",
        "<input type=\"password\" name=\"current-password\">",
        "if password == other_password {",
        "\"token_type\": \"bearer\"",
        "max_tokens=100000",
        "commit 3f7a91c08be2d54f6a0791e8c3b25d7f3f7a91c0",
        "sha256:3f7a91c08be2d54f6a0791e8c3b25d7f3f7a91c08be2d54f6a0791e8c3b25d7f",
        "primary_key=user_id",
        "if line == \"-----BEGIN RSA PRIVATE KEY-----\" {",
        "token: ghp_****",
        "\"sessionId\":\"0c4aeb47-79c0-417a-a3bd-52a92665f810\"",
        "pub tokens: UsedTokens,",
        "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
        "Enter password for user@host: ",
        "password must be at least 8 characters",
    ];
    for text in cases {
        assert_eq!(mask(text).as_str(), text);
    }
}

fn stream(detector: &Arc<Detector>, columns: Option<usize>, chunks: &[&[u8]]) -> Vec<u8> {
    let mut mask = StreamMask::new(detector.clone());
    if let Some(columns) = columns {
        mask.set_columns(columns);
    }
    let mut out = Vec::new();
    for chunk in chunks {
        mask.feed(chunk, &mut out);
        assert!(mask.held() <= 20 * 1024);
    }
    mask.finish(&mut out);
    out
}

fn secret() -> String {
    ["ghp_", "k3Xq9Lw2Rt7VbNcQf5HjZp", "Gs1YuE8oDmKiAb"].concat()
}

#[test]
fn a_secret_cut_anywhere_is_masked_all_the_same() {
    let detector = Arc::new(detector());
    let key = "-----BEGIN PRIVATE KEY-----\nMIIEvgIBADANBgkqhkiG9w0BAQEFAASC\nBKgwggSkAgEAAoIBAQ==\n-----END PRIVATE KEY-----\n";
    let texts = [
        format!("a {} b\n", secret()),
        format!("password=\"k3Xq9Lw2\" and {}", secret()),
        format!("postgres://app:k3Xq9Lw2@db/x\ncurl -u me:k3Xq9Lw2 https://x\n{key}end"),
        "Cookie: a=b; sid=k3Xq9Lw2Rt7VbNcQf5HjZp; x=y\r\nAuthorization: Bearer k3Xq9Lw2Rt7VbNcQf5HjZp\r\n".to_owned(),
    ];
    for text in texts {
        let whole = stream(&detector, None, &[text.as_bytes()]);
        assert_eq!(whole.len(), text.len());
        let mut expected = text.clone().into_bytes();
        for finding in detector.scan(text.as_bytes()) {
            for byte in &mut expected[finding.secret..finding.end] {
                if *byte > b' ' {
                    *byte = b'*';
                }
            }
        }
        assert_eq!(
            String::from_utf8_lossy(&whole),
            String::from_utf8_lossy(&expected)
        );
        assert!(!String::from_utf8_lossy(&whole).contains("k3Xq9Lw2"));
        for first in 0..text.len() {
            for second in (first..text.len()).step_by(7) {
                let (a, rest) = text.as_bytes().split_at(first);
                let (b, c) = rest.split_at(second - first);
                assert_eq!(
                    stream(&detector, None, &[a, b, c]),
                    whole,
                    "{first} {second}"
                );
            }
        }
        let single: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(stream(&detector, None, &single), whole);
    }
}

#[test]
fn colours_cursors_and_rows_do_not_hide_a_secret() {
    let detector = Arc::new(detector());
    let (a, b) = (&secret()[..20], &secret()[20..]);
    let wide = 40;
    let texts = [
        format!("token \x1b[31m{a}\x1b[1;32m{b}\x1b[0m done\r\n"),
        format!("\x1b]0;echo {a}{b}\x07$ "),
        format!("{:>40}\r\n{b} done\r\n", a),
        format!("{:>38}\r\n  {b} done\r\n", a),
        format!("\x1b[5;1H{:>40}\x1b[6;1H{b} done", a),
        "password:\x1b[1Ck3Xq9Lw2Rt7V\x1b[0m\r\n".to_owned(),
    ];
    for text in texts {
        let whole = stream(&detector, Some(wide), &[text.as_bytes()]);
        assert_eq!(whole.len(), text.len());
        let shown = String::from_utf8_lossy(&whole);
        for piece in ["k3Xq9Lw2", "VbNcQf5H", "Gs1YuE8o", "DmKiAb"] {
            assert!(!shown.contains(piece), "{text:?}: {shown:?}");
        }
        let single: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(stream(&detector, Some(wide), &single), whole, "{text:?}");
        for cut in 0..text.len() {
            let (first, second) = text.as_bytes().split_at(cut);
            assert_eq!(stream(&detector, Some(wide), &[first, second]), whole);
        }
    }
}

#[test]
fn what_is_typed_ends_its_lines_with_a_return() {
    let detector = Arc::new(detector());
    let typed = "ls -l /\rdb.example.net:5432:app:me:k3Xq9Lw2Rt\r";
    let masked = stream(&detector, None, &[typed.as_bytes()]);
    assert_eq!(
        String::from_utf8_lossy(&masked),
        "ls -l /\rdb.example.net:5432:app:me:**********\r"
    );
}

#[test]
fn what_cannot_be_secret_goes_out_at_once() {
    let mut mask = StreamMask::new(Arc::new(detector()));
    let mut out = Vec::new();
    mask.feed(b"$ cargo test\r\nrunning 3 tests\r\nPassword: ", &mut out);
    assert_eq!(out, b"$ cargo test\r\nrunning 3 tests\r\nPassword: ");
    mask.feed(b"k3Xq", &mut out);
    mask.feed(b"9Lw2", &mut out);
    assert_eq!(mask.held(), 8);
    mask.feed(b"\r\n$ ", &mut out);
    assert_eq!(
        out,
        b"$ cargo test\r\nrunning 3 tests\r\nPassword: ********\r\n$ "
    );
}

#[test]
fn known_values_are_masked_in_every_form() {
    let mut known = Known::default();
    known.add(b"correct horse");
    let detector = Arc::new(Detector::new(known));
    for form in [
        "correct horse",
        "Y29ycmVjdCBob3JzZQ",
        "636f727265637420686f727365",
        "correct%20horse",
    ] {
        let text = format!("say {form} now");
        let found = detector.scan(text.as_bytes());
        assert_eq!(found.len(), 1, "{form}");
        let whole = stream(&detector, None, &[text.as_bytes()]);
        assert_eq!(whole.len(), text.len());
        assert!(!String::from_utf8_lossy(&whole).contains(&form[..8]));
        let single: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(stream(&detector, None, &single), whole);
    }
    assert_eq!(detector.scan(b"Correct Horse"), Vec::new());
}

#[test]
fn a_token_longer_than_what_is_looked_at_is_masked_to_its_end() {
    let detector = Arc::new(detector());
    let long = format!("x github_pat_{} y", "k3Xq9Lw2Rt7VbNcQ_f5HjZp".repeat(400));
    let whole = stream(&detector, None, &[long.as_bytes()]);
    let expected = format!("x github_pat_{} y", "*".repeat(23 * 400));
    assert_eq!(String::from_utf8_lossy(&whole), expected);
    let pieces: Vec<&[u8]> = long.as_bytes().chunks(97).collect();
    assert_eq!(stream(&detector, None, &pieces), whole);
    assert_eq!(mask(long.as_str()).as_str(), "x [masked GitHub token] y");
}

fn bits() -> impl Strategy<Value = String> {
    let words = prop_oneof![
        Just("password".to_owned()),
        Just("token".to_owned()),
        Just("=".to_owned()),
        Just(": ".to_owned()),
        Just("\"".to_owned()),
        Just("\\\"".to_owned()),
        Just("://".to_owned()),
        Just("@".to_owned()),
        Just("ghp_".to_owned()),
        Just("sk-".to_owned()),
        Just("eyJ".to_owned()),
        Just("\r\n".to_owned()),
        Just("\x1b[31m".to_owned()),
        Just("\x1b[2;3H".to_owned()),
        Just("\x1b]0;".to_owned()),
        Just("\x07".to_owned()),
        Just("-----BEGIN PRIVATE KEY-----\n".to_owned()),
        Just("-----END".to_owned()),
        Just("é漢".to_owned()),
        Just("cookie:".to_owned()),
        Just("Bearer ".to_owned()),
        Just(" -p".to_owned()),
        Just("AKIA".to_owned()),
        "[a-zA-Z0-9]{1,40}",
        "[ -~]{1,12}",
    ];
    prop::collection::vec(words, 0..40).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn any_text_is_masked_once_and_stays_so(text in bits()) {
        let once = mask(text.as_str());
        prop_assert_eq!(mask(once.as_str()).secrets(), 0, "{}", once.as_str());
    }

    #[test]
    fn any_stream_is_masked_alike_however_it_is_cut(
        text in bits(),
        cuts in prop::collection::vec(0_usize..400, 0..12),
        columns in prop::option::of(20_usize..60),
    ) {
        let detector = Detector::current();
        let bytes = text.as_bytes();
        let whole = stream(&detector, columns, &[bytes]);
        prop_assert_eq!(whole.len(), bytes.len());
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.push(0);
        cuts.push(bytes.len());
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        prop_assert_eq!(stream(&detector, columns, &pieces), whole);
    }

    #[test]
    fn any_bytes_keep_their_number(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let detector = Detector::current();
        prop_assert_eq!(stream(&detector, Some(30), &[&bytes]).len(), bytes.len());
        prop_assert!(detector.scan(&bytes).iter().all(|found| found.end <= bytes.len()));
    }
}

/// What a detector finds of a corpus: how many secrets wholly, how many there are, and how
/// many findings are right of how many.
fn measured(samples: &[corpus::Sample]) -> (usize, usize, usize, usize, Vec<String>) {
    let detector = detector();
    let (mut found_wholly, mut all, mut right, mut findings) = (0, 0, 0, 0);
    let mut wrong = Vec::new();
    for sample in samples {
        let found = detector.scan(sample.text.as_bytes());
        findings += found.len();
        let covers = |finding: &&Finding| {
            let secret = sample.secret.clone().unwrap_or(0..0);
            finding.start < secret.end && finding.end > secret.start
        };
        right += found.iter().filter(covers).count();
        if let Some(secret) = &sample.secret {
            all += 1;
            let whole = found
                .iter()
                .any(|finding| finding.start <= secret.start && finding.end >= secret.end);
            found_wholly += usize::from(whole);
            if !whole {
                wrong.push(format!(
                    "missed {}: {:?} {found:?}",
                    sample.kind, sample.text
                ));
            }
        }
        if !found.iter().all(|finding| covers(&finding)) {
            wrong.push(format!("not one: {:?} {found:?}", sample.text));
        }
    }
    (found_wholly, all, right, findings, wrong)
}

#[test]
fn of_a_generated_corpus_nearly_all_is_found_and_little_else() {
    let samples = corpus::samples(11, 3_000);
    let (found, all, right, findings, wrong) = measured(&samples);
    let recall = found as f64 / all as f64;
    let precision = right as f64 / findings as f64;
    assert!(
        recall >= 0.98 && precision >= 0.98,
        "recall {recall} precision {precision}\n{}",
        wrong[..wrong.len().min(40)].join("\n")
    );
}

#[test]
fn a_key_that_ends_in_another_is_masked_alike_however_it_is_cut() {
    let begin = ["-----BEGIN PRIVATE ", "KEY-----\n"].concat();
    let text = format!("{begin}passwordaaaaaAa0=sk-Aaa0aAaAaa0A0a{begin}");
    let detector = detector();
    let detector = Arc::new(detector);
    let whole = stream(&detector, None, &[text.as_bytes()]);
    for cut in 0..text.len() {
        let (before, after) = text.as_bytes().split_at(cut);
        assert_eq!(stream(&detector, None, &[before, after]), whole, "{cut}");
    }
}

#[test]
fn what_a_terminal_shows_is_scanned_with_places_among_its_bytes() {
    let token = ["ghp_", "k3Xq9Lw2Rt7VbNcQf5HjZpGs1YuE8oDmKiAb"].concat();
    let (first, second) = token.split_at(14);
    let row = format!("{} ", "x".repeat(69));
    for (text, begin) in [
        (format!("\x1b[33m{token}\x1b[0m\r\n"), 5),
        (format!("\x1b[1mTOKEN\x1b[0m=\x1b[7m{token}\x1b[0m"), 18),
        (format!("{first}\x1b[31m{second}\r\n"), 0),
        (format!("\x1b[2K{row}{first}\r\n{second} and more\r\n"), 74),
    ] {
        let found = detector().scan_terminal(text.as_bytes());
        assert_eq!(found.len(), 1, "{text:?}");
        assert_eq!(found[0].start, begin, "{text:?}");
        let last = text.find(&token[30..]).expect("the token's end") + token.len() - 30;
        assert_eq!(found[0].end, last, "{text:?}");
        assert_eq!(found[0].kind(), "github-token");
    }
}

#[test]
fn secrets_are_found_where_people_and_programs_put_them() {
    let value = ["k3Xq9Lw2", "Rt7VbNcQ"].concat();
    for text in [
        "redis-cli -h x -a {} ping",
        "zip -P {} a.zip b",
        "7z x -p{} a.7z",
        "openssl rsa -in k -passin pass:{}",
        "openssl enc -aes-256-cbc -k {} -in a",
        "htpasswd -b file user {}",
        "htpasswd -bn user {}",
        "net use Z: \\\\h\\s /user:u {}",
        "echo root:{} | chpasswd",
        "echo \"{}\" | docker login -u u --password-stdin",
        "az login --service-principal -u x -p {} --tenant y",
        "npm config set //registry.npmjs.org/:_authToken {}",
        "aws configure set aws_secret_access_key {}",
        "curl -b \"session={}\" https://x",
        "requirepass {}",
        "  psk=\"{}\"",
        "(pw: {})",
        "Password for admin: {}",
        "My password is {}",
        "<property name=\"password\" value=\"{}\"/>",
        "<add key=\"ApiToken\" value=\"{}\" />",
        "  - name: API_TOKEN\n    value: \"{}\"",
        "var botToken string = \"{}\"",
        "wget --http-password={} https://x",
        "\\u001b[1mAPI_TOKEN\\u001b[0m={}",
    ] {
        let text = text.replace("{}", &value);
        let found = detector().scan(text.as_bytes());
        let hit = found
            .iter()
            .any(|found| text[found.secret..found.end].contains(&value));
        assert!(hit, "{text}: {found:?}");
    }
    for text in [
        "the password is 12 characters long",
        "password is required",
        "the token is expired",
        "idempotency-key: 7f1ff63b-f798-4dab-9aca-c6b5407615ce",
        "cache_key=v2:user:75750239:profile",
        "public_key = \"k3Xq9Lw2Rt7VbNcQk3Xq9Lw2Rt7VbNcQ\"",
        "//# sourceMappingURL=data:application/json;base64,eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbIi4uLyJdLCJuYW1lcyI6W10",
        "echo \"hello world\" | tee x",
        "ls -a -k",
    ] {
        assert_eq!(detector().scan(text.as_bytes()), [], "{text}");
    }
}
