//! The kinds of secret, read from `kinds.txt`: what one is called, its forms, the names
//! beside which a form is one, and invented examples by which each kind is tested.

use std::sync::LazyLock;

use crate::assigned::Family;
use crate::form::{Form, Piece, pieces};
use crate::places::Place;

/// One kind of secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    /// What tools know it by: `github-token`.
    pub id: &'static str,
    /// What stands in the mark of a masked text: `[masked GitHub token]`.
    pub title: &'static str,
    /// Invented examples.
    pub tests: Vec<String>,
    /// What looks alike and is none.
    pub counterexamples: Vec<&'static str>,
    pub(crate) forms: Vec<Form>,
    pub(crate) near: Vec<(&'static str, Vec<Piece>)>,
}

/// What is looked for and which kind it is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Search {
    Form { kind: usize, form: usize },
    Near { kind: usize, near: usize },
    Name(Family),
    Place(Place),
}

/// The kinds that have a line in `kinds.txt`, and after them those that are found by
/// names and places alone.
pub(crate) struct Catalogue {
    pub(crate) kinds: Vec<Kind>,
    /// What finds something: a literal, in letters of any size, and what to do then.
    pub(crate) searches: Vec<(Vec<u8>, Search)>,
    /// Lines that could not be read; none, says a test.
    pub(crate) unreadable: Vec<&'static str>,
}

/// Kinds without a form of their own, which follow those of `kinds.txt`.
const OTHERS: [(&str, &str, &[&str], &[&str]); 9] = [
    (
        "password",
        "",
        &[
            "password = hunter2!",
            "DB_PASS=letmeinplease",
            "machine example.net login me password hunter22",
        ],
        &[
            "password=${DB_PASSWORD}",
            "the password: it is read from a file",
        ],
    ),
    (
        "secret",
        "",
        &[
            "{\"client_secret\": \"k3Xq9Lw2Rt7V\"}",
            "export API_TOKEN=k3Xq9Lw2Rt7VbNcQ",
        ],
        &[
            "token = self.next_token()",
            "max_tokens: 4096",
            "let token2 = token1;",
        ],
    ),
    (
        "private-key",
        "private key",
        &[],
        &["-----BEGIN PUBLIC KEY-----"],
    ),
    (
        "url-credentials",
        "",
        &["https://me:k3Xq9Lw2@example.net/x"],
        &["https://example.com/path@1.0", "https://user@example.net"],
    ),
    (
        "connection-string",
        "",
        &[
            "postgres://app:pa55@db/x",
            "mongodb+srv://u:k3Xq9@cluster0.example.net",
        ],
        &["postgres://localhost/test"],
    ),
    (
        "authorization-header",
        "",
        &[
            "Authorization: Bearer abcdef0123456789abcd",
            "authorization: Basic YWNtZTprM1hxOUx3Mg==",
        ],
        &["Authorization: Bearer <token>"],
    ),
    (
        "cookie",
        "",
        &[
            "Cookie: sid=k3Xq9Lw2Rt7VbNcQf5HjZp",
            "Set-Cookie: session=k3Xq9Lw2Rt7VbNcQf5HjZp; Path=/",
        ],
        &["Set-Cookie: theme=dark; Path=/", "cookie: a small file"],
    ),
    (
        "command-line-password",
        "",
        &[
            "curl -u me:k3Xq9Lw2 https://example.net",
            "sshpass -p k3Xq9Lw2 ssh me@host",
            "mysql -u root -pTr0ub4dor db",
        ],
        &["curl -u $USER:$PASSWORD x"],
    ),
    ("known-value", "secret", &[], &[]),
];

/// Which of [`OTHERS`] a search without a line in `kinds.txt` finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Other {
    Password,
    Secret,
    PrivateKey,
    UrlCredentials,
    ConnectionString,
    Authorization,
    Cookie,
    CommandLine,
    Known,
}

impl Catalogue {
    pub(crate) fn get() -> &'static Self {
        static CATALOGUE: LazyLock<Catalogue> =
            LazyLock::new(|| parse(include_str!("../kinds.txt")));
        &CATALOGUE
    }

    /// The number of a kind without a line in `kinds.txt`.
    pub(crate) fn other(&self, other: Other) -> usize {
        self.kinds.len() - OTHERS.len() + other as usize
    }
}

/// Every kind of secret that is found.
#[must_use]
pub fn kinds() -> &'static [Kind] {
    &Catalogue::get().kinds
}

fn parse(file: &'static str) -> Catalogue {
    let mut catalogue = Catalogue {
        kinds: Vec::new(),
        searches: Vec::new(),
        unreadable: Vec::new(),
    };
    for line in file.lines() {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') && catalogue.line(line).is_none() {
            catalogue.unreadable.push(line);
        }
    }
    for (id, title, tests, none) in OTHERS {
        catalogue.kinds.push(Kind {
            id,
            title,
            tests: tests.iter().map(|&test| test.to_owned()).collect(),
            counterexamples: none.to_vec(),
            forms: Vec::new(),
            near: Vec::new(),
        });
    }
    for (names, family) in NAMES {
        for name in names {
            catalogue
                .searches
                .push((name.as_bytes().to_vec(), Search::Name(family)));
        }
    }
    for (literal, place) in Place::LITERALS {
        catalogue
            .searches
            .push((literal.as_bytes().to_vec(), Search::Place(place)));
    }
    catalogue
}

impl Catalogue {
    fn line(&mut self, line: &'static str) -> Option<()> {
        let (word, rest) = line.split_once(' ')?;
        let rest = rest.trim();
        if word == "kind" {
            let (id, title) = rest.split_once('|')?;
            self.kinds.push(Kind {
                id: id.trim(),
                title: title.trim(),
                tests: Vec::new(),
                counterexamples: Vec::new(),
                forms: Vec::new(),
                near: Vec::new(),
            });
            return Some(());
        }
        let number = self.kinds.len().checked_sub(1)?;
        let kind = &mut self.kinds[number];
        match word {
            "form" => {
                let form = Form::parse(rest)?;
                let search = Search::Form {
                    kind: number,
                    form: kind.forms.len(),
                };
                self.searches.push((form.literal.clone(), search));
                kind.forms.push(form);
            }
            "near" => {
                let (name, pattern) = rest.split_once(' ')?;
                let search = Search::Near {
                    kind: number,
                    near: kind.near.len(),
                };
                self.searches.push((name.as_bytes().to_vec(), search));
                kind.near.push((name, pieces(pattern.trim())?));
            }
            "test" => {
                // One blank joins parts; what has one inside writes two.
                let parts = rest.replace("  ", "\0");
                kind.tests.push(parts.replace(' ', "").replace('\0', " "));
            }
            "none" => kind.counterexamples.push(rest),
            _ => return None,
        }
        Some(())
    }
}

/// Names that announce a secret, wherever in a name they stand.
const NAMES: [(&[&str], Family); 4] = [
    (
        &[
            "password",
            "passwd",
            "pswd",
            "passcode",
            "pwd",
            "pass",
            "pw",
            "psk",
            "requirepass",
            "kennwort",
            "passwort",
            "contrase\u{f1}a",
        ],
        Family::Password,
    ),
    (
        &[
            "passphrase",
            "mnemonic",
            "seed_phrase",
            "seedphrase",
            "recovery_phrase",
        ],
        Family::Passphrase,
    ),
    (
        &[
            "secret",
            "token",
            "api_key",
            "api-key",
            "apikey",
            "access_key",
            "access-key",
            "accesskey",
            "private_key",
            "private-key",
            "privatekey",
            "credential",
            "auth_key",
            "authkey",
            "account_key",
            "accountkey",
            "master_key",
            "masterkey",
            "encryption_key",
            "signing_key",
            "signingkey",
            "encryptionkey",
            "storagekey",
            "sessionkey",
            "servicekey",
            "deploykey",
            "consumerkey",
            "webhookkey",
            "hmackey",
            "shared_key",
            "sharedkey",
            "session_key",
            "csrf",
            "xsrf",
            "webhook_key",
            "license_key",
            "licensekey",
            "oauth",
            "jwt",
            "bearer_",
            "x-amz-signature",
            "x-goog-signature",
            "consumer_key",
            "service_key",
            "deploy_key",
            "storage_key",
            "app_key",
            "appkey",
            "_auth",
            "key_base",
            "subscription-key",
        ],
        Family::Token,
    ),
    (&["_key", "-key"], Family::Key),
];
