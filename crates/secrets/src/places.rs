//! Places where a secret stands that no name announces: the credentials of an address, a
//! block of a private key, headers of HTTP, options of well-known programs, `.pgpass`.

use crate::assigned::{Family, Reading, value_of};
use crate::kinds::Other;
use crate::value::{contains, is_placeholder, is_random, is_words};
use crate::view::View;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Url,
    PrivateKey,
    Authorization,
    Scheme,
    Cookie,
    UserOption,
    PasswordOption,
    PgPass,
    Sql,
    CookieOption,
    KeyOption,
    PassPhrase,
    NetUse,
    Htpasswd,
    Echo,
}

/// What was found at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) other: Other,
    /// Where the whole begins, as it is told.
    pub(crate) start: usize,
    /// Where what is secret of it begins.
    pub(crate) secret: usize,
    pub(crate) end: usize,
    pub(crate) goes_on: bool,
}

impl Place {
    pub(crate) const LITERALS: [(&'static str, Self); 27] = [
        ("://", Self::Url),
        ("-----begin ", Self::PrivateKey),
        ("authorization", Self::Authorization),
        ("bearer ", Self::Scheme),
        ("basic ", Self::Scheme),
        ("cookie:", Self::Cookie),
        ("cookie\":", Self::Cookie),
        ("cookie=", Self::Cookie),
        (" -u ", Self::UserOption),
        (" --user ", Self::UserOption),
        (" -u", Self::UserOption),
        (" -p", Self::PasswordOption),
        (":5432:", Self::PgPass),
        (":5433:", Self::PgPass),
        (":6432:", Self::PgPass),
        (":*:", Self::PgPass),
        ("identified by ", Self::Sql),
        (" -b ", Self::CookieOption),
        (" --cookie ", Self::CookieOption),
        (" -a ", Self::KeyOption),
        (" -k ", Self::KeyOption),
        (" pass:", Self::PassPhrase),
        ("=pass:", Self::PassPhrase),
        ("/user:", Self::NetUse),
        ("htpasswd -", Self::Htpasswd),
        ("echo ", Self::Echo),
        ("printf ", Self::Echo),
    ];

    /// What stands at this place, whose literal is at `start..end`.
    pub(crate) fn find(
        self,
        view: &View<'_>,
        start: usize,
        end: usize,
        reached: &mut usize,
    ) -> Option<Spot> {
        match self {
            Self::Url => url(view, start, end, reached),
            Self::PrivateKey => private_key(view, start, end, reached),
            Self::Authorization => authorization(view, start, end, reached),
            Self::Scheme => behind_scheme(view, start, end, reached),
            Self::Cookie => cookie(view, end, reached),
            Self::UserOption => user_option(view, start, end, reached),
            Self::PasswordOption => password_option(view, start, end, reached),
            Self::PgPass => pgpass(view, start, end, reached),
            Self::Sql => sql(view, end, reached),
            Self::CookieOption if contains(view.line_before(start), b"curl") => {
                cookie(view, end, reached)
            }
            Self::CookieOption => None,
            Self::KeyOption => key_option(view, start, end, reached),
            Self::PassPhrase if contains(view.line_before(start), b"openssl") => {
                word_at(view, end, reached)
            }
            Self::PassPhrase => None,
            Self::NetUse if contains(view.line_before(start), b"net use") => {
                let user = view.run(end, 64, |byte| byte.is_ascii_graphic());
                word_at(view, view.run(user, 4, |byte| byte == b' '), reached)
            }
            Self::NetUse => None,
            Self::Htpasswd => htpasswd(view, end, reached),
            Self::Echo => echoed(view, end, reached),
        }
    }
}

fn spot(other: Other, start: usize, end: usize) -> Spot {
    Spot {
        other,
        start,
        secret: start,
        end,
        goes_on: false,
    }
}

/// `scheme://user:password@host`: the password.
fn url(view: &View<'_>, start: usize, end: usize, reached: &mut usize) -> Option<Spot> {
    let inside = |byte: u8| {
        byte > b' '
            && !matches!(
                byte,
                b'/' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | b'?' | b',' | b')' | b'|'
            )
            && byte != 0x7f
    };
    *reached = end;
    let user = view.run(end, 96, |byte| inside(byte) && !matches!(byte, b':' | b'@'));
    *reached = user;
    if view.at(user) != Some(b':') {
        return None;
    }
    // A password may hold an `@`: the last one before the host counts.
    let limit = view.run(user + 1, 256, |byte| {
        byte > b' ' && !matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | b',')
    });
    let authority = &view.text[user + 1..limit];
    let slash = authority
        .iter()
        .position(|&byte| byte == b'/')
        .unwrap_or(authority.len());
    let at = match authority[..slash].iter().rposition(|&byte| byte == b'@') {
        Some(at) => at,
        None => authority.iter().position(|&byte| byte == b'@')?,
    };
    let (from, to) = (user + 1, user + 1 + at);
    let password = &view.text[from..to];
    let port = password
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if password.get(port) == Some(&b'/') && port > 0 {
        return None;
    }
    let named = contains(password, b"password") && password.len() < 12
        || password == b"pass"
        || password == b"secret";
    // An address of a document, and of nobody.
    let short = password.len() < 8 && is_words(password);
    let invented = short && view.starts_with(to + 1, b"example.");
    if password.len() < 3 || is_placeholder(password) || named || invented {
        return None;
    }
    let scheme = view.run_back(start, 24, |byte| {
        byte.is_ascii_alphanumeric() || byte == b'+'
    });
    let scheme = &view.text[scheme..start];
    let database: [&[u8]; 12] = [
        b"postgres",
        b"mysql",
        b"mongodb",
        b"redis",
        b"amqp",
        b"mariadb",
        b"sqlserver",
        b"jdbc",
        b"clickhouse",
        b"cockroach",
        b"oracle",
        b"mssql",
    ];
    let other = if database.iter().any(|name| contains(scheme, name)) {
        Other::ConnectionString
    } else {
        Other::UrlCredentials
    };
    Some(spot(other, from, to))
}

/// The beginning of a private key in PEM or of PGP: told from its first line, secret from
/// the line after, and going on.
fn private_key(view: &View<'_>, start: usize, end: usize, reached: &mut usize) -> Option<Spot> {
    *reached = view.limit();
    let title = view.run(end, 48, |byte| {
        byte.is_ascii_uppercase() || byte.is_ascii_digit() || matches!(byte, b' ')
    });
    if !contains(&view.text[end..title], b"PRIVATE KEY") || !view.starts_with(title, b"-----") {
        return None;
    }
    let body = title + 5;
    *reached = body;
    // What may stand between the first line and the key: the end of the line, written or
    // escaped, quotes, signs of comments, and the headers of an encrypted key.
    let mut at = body;
    for _ in 0..12 {
        at = view.run(at, 64, |byte| {
            byte.is_ascii_whitespace()
                || matches!(
                    byte,
                    b'\\' | b'"' | b'\'' | b'+' | b'#' | b'*' | b'>' | b'|' | b',' | b'`'
                )
        });
        if at > body && view.text[at - 1] == b'\\' && matches!(view.at(at), Some(b'n' | b'r')) {
            at += 1;
            continue;
        }
        let word = view.run(at, 24, |byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
        });
        if word - at >= 4
            && word > at
            && (word - at >= 16
                || view.at(word).is_some_and(|next| {
                    next == b'\\' || next == b'\n' || next == b'\r' || next == b'-' || next == b' '
                }))
        {
            return Some(Spot {
                other: Other::PrivateKey,
                start,
                secret: body,
                end: word,
                goes_on: true,
            });
        }
        let header = view.run(word, 24, |byte| {
            byte.is_ascii_alphanumeric() || byte == b'-'
        });
        if view.at(header) != Some(b':') {
            return None;
        }
        at = view.run(header, 128, |byte| byte != b'\n' && byte != b'\\');
    }
    None
}

fn authorization(view: &View<'_>, start: usize, end: usize, reached: &mut usize) -> Option<Spot> {
    let Reading::Value(value) = value_of(view, start, end, Family::Token, reached) else {
        return None;
    };
    let found = &view.text[value.start..value.end];
    let fits = found.len() >= 8 && !is_placeholder(found) && is_random(found) && !is_words(found);
    fits.then_some(Spot {
        goes_on: value.goes_on,
        ..spot(Other::Authorization, value.start, value.end)
    })
}

/// `Bearer …` and `Basic …` alone.
fn behind_scheme(view: &View<'_>, start: usize, end: usize, reached: &mut usize) -> Option<Spot> {
    *reached = end;
    if view
        .before(start)
        .is_some_and(|byte| byte.is_ascii_alphanumeric())
    {
        return None;
    }
    let last = view.run(end, usize::MAX, |byte| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'_' | b'-' | b'.' | b'~' | b'+' | b'/' | b'=')
    });
    let found = &view.text[end..last];
    let fits = found.len() >= 16 && !is_placeholder(found) && is_random(found) && !is_words(found);
    fits.then_some(Spot {
        goes_on: last == view.limit(),
        ..spot(Other::Authorization, end, last)
    })
}

/// The first value of a cookie that is random.
fn cookie(view: &View<'_>, end: usize, reached: &mut usize) -> Option<Spot> {
    let mut at = view.run(end, 8, |byte| matches!(byte, b' ' | b'\t' | b'"' | b'\''));
    *reached = at;
    for _ in 0..24 {
        let name = view.run(at, 64, |byte| {
            byte.is_ascii_graphic() && !matches!(byte, b'=' | b';' | b'"' | b'\'' | b',' | b'\\')
        });
        if view.at(name) != Some(b'=') {
            return None;
        }
        let from = name + 1;
        let to = view.run(from, usize::MAX, |byte| {
            byte.is_ascii_graphic() && !matches!(byte, b';' | b'"' | b'\'' | b',' | b'\\')
        });
        let value = &view.text[from..to];
        if value.len() >= 12 && !is_placeholder(value) && is_random(value) && !is_words(value) {
            // What follows are cookies of the same line: random ones are found with it.
            let line = view.run(to, usize::MAX, |byte| {
                byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'\\') || byte == b' '
            });
            let rest = &view.text[to..line];
            let attributes = contains(rest, b"path=")
                || contains(rest, b"httponly")
                || contains(rest, b"secure")
                || contains(rest, b"max-age")
                || contains(rest, b"expires")
                || contains(rest, b"samesite");
            let pairs = rest.contains(&b'=') && rest.starts_with(b";") && !attributes;
            let last = if pairs { line } else { to };
            return Some(Spot {
                goes_on: last == view.limit(),
                ..spot(Other::Cookie, from, last)
            });
        }
        if view.met_end() {
            return None;
        }
        *reached = to;
        if view.at(to) != Some(b';') {
            return None;
        }
        at = view.run(to + 1, 4, |byte| byte == b' ');
    }
    None
}

/// `-u user:password` of programs that speak HTTP.
fn user_option(view: &View<'_>, start: usize, end: usize, reached: &mut usize) -> Option<Spot> {
    *reached = end;
    let line = view.line_before(start);
    const PROGRAMS: [&[u8]; 5] = [b"curl", b"wget", b"http", b"docker", b"httpie"];
    if !PROGRAMS.iter().any(|program| contains(line, program)) {
        return None;
    }
    let from = view.run(end, 4, |byte| matches!(byte, b' ' | b'"' | b'\''));
    let quoted = view
        .before(from)
        .filter(|byte| matches!(byte, b'"' | b'\''));
    let inside = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'\\');
    let user = view.run(from, 96, |byte| inside(byte) && byte != b':');
    *reached = user;
    if user == from || view.at(user) != Some(b':') {
        return None;
    }
    let to = view.run(user + 1, 256, |byte| {
        inside(byte) || byte == b' ' && quoted.is_some()
    });
    let password = &view.text[user + 1..to];
    (password.len() >= 4 && !is_placeholder(password) && !password.starts_with(b"//"))
        .then(|| spot(Other::CommandLine, user + 1, to))
}

/// `-pPASSWORD` of MySQL's programs, `sshpass -p PASSWORD`.
fn password_option(view: &View<'_>, start: usize, end: usize, reached: &mut usize) -> Option<Spot> {
    *reached = end;
    let line = view.line_before(start);
    let attached = contains(line, b"7z") || contains(line, b"rar ");
    let mysql = contains(line, b"mysql") || contains(line, b"mariadb") || attached;
    let zips = contains(line, b"zip") && view.text[end - 1] == b'P';
    let other = zips
        || contains(line, b"az login")
        || contains(line, b"mongo")
        || contains(line, b"sshpass")
        || contains(line, b"docker login")
        || contains(line, b"podman login");
    if !mysql && !other {
        return None;
    }
    let blanks = view.run(end, 4, |byte| byte == b' ');
    if mysql && !other && blanks > end {
        return None;
    }
    let from = view.run(blanks, 2, |byte| matches!(byte, b'"' | b'\''));
    *reached = from;
    let to = view.run(from, 256, |byte| {
        byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'\\' | b';' | b'|')
    });
    let password = &view.text[from..to];
    (password.len() >= 4 && !password.starts_with(b"-") && !is_placeholder(password))
        .then(|| spot(Other::CommandLine, from, to))
}

/// One word of a command line that is a password.
fn word_at(view: &View<'_>, from: usize, reached: &mut usize) -> Option<Spot> {
    let from = view.run(from, 2, |byte| matches!(byte, b'"' | b'\''));
    *reached = from;
    let to = view.run(from, 256, |byte| {
        byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'\\' | b';' | b'|')
    });
    let password = &view.text[from..to];
    let fits = password.len() >= 6
        && !password.starts_with(b"-")
        && !password.starts_with(b"$")
        && !is_placeholder(password);
    fits.then(|| spot(Other::CommandLine, from, to))
}

/// `redis-cli -a PASSWORD`, `openssl enc -k PASSWORD`.
fn key_option(view: &View<'_>, start: usize, end: usize, reached: &mut usize) -> Option<Spot> {
    let line = view.line_before(start);
    let redis = contains(line, b"redis-cli") && view.text[end - 2] == b'a';
    let openssl = contains(line, b"openssl enc") && view.text[end - 2] == b'k';
    if !redis && !openssl {
        *reached = end;
        return None;
    }
    word_at(view, end, reached)
}

/// `htpasswd -b FILE USER PASSWORD`.
fn htpasswd(view: &View<'_>, end: usize, reached: &mut usize) -> Option<Spot> {
    *reached = end;
    let options = view.run(end, 12, |byte| byte.is_ascii_alphanumeric());
    if !view.text[end..options].contains(&b'b') {
        return None;
    }
    let mut at = options;
    let words = if view.text[end..options].contains(&b'n') {
        1
    } else {
        2
    };
    for _ in 0..words {
        at = view.run(at, 4, |byte| byte == b' ');
        at = view.run(at, 128, |byte| byte.is_ascii_graphic());
    }
    word_at(view, view.run(at, 4, |byte| byte == b' '), reached)
}

/// `echo PASSWORD | docker login --password-stdin`, `echo user:PASSWORD | chpasswd`.
fn echoed(view: &View<'_>, end: usize, reached: &mut usize) -> Option<Spot> {
    *reached = end;
    let from = view.run(end, 4, |byte| matches!(byte, b' ' | b'"' | b'\''));
    let to = view.run(from, 128, |byte| {
        byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'\\' | b';' | b'|' | b'$')
    });
    let pipe = view.run(to, 4, |byte| matches!(byte, b' ' | b'"' | b'\''));
    if to - from < 6 || view.at(pipe) != Some(b'|') {
        return None;
    }
    let line = view.run(pipe, 128, |byte| byte != b'\n' && byte != b'\r');
    let rest = &view.text[pipe..line];
    let word = &view.text[from..to];
    let secret = if contains(rest, b"chpasswd") {
        from + word.iter().position(|&byte| byte == b':')? + 1
    } else if contains(rest, b"password-stdin") || contains(rest, b"passwd --stdin") {
        from
    } else {
        return None;
    };
    let password = &view.text[secret..to];
    (password.len() >= 6 && !is_placeholder(password)).then(|| spot(Other::CommandLine, secret, to))
}

/// `host:5432:database:user:password`, one to a line or as a word among others.
fn pgpass(view: &View<'_>, start: usize, end: usize, reached: &mut usize) -> Option<Spot> {
    *reached = end;
    let line = view.line_before(start);
    let of_host =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'*' | b'_');
    let host = line.iter().rev().take_while(|byte| of_host(byte)).count();
    let before = line[..line.len() - host].last();
    let begins = before.is_none_or(|byte| {
        byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'`' | b'(' | b'[' | b'=')
    });
    if host == 0 || !begins {
        return None;
    }
    let field = |byte: u8| byte.is_ascii_graphic() && byte != b':';
    let database = view.run(end, 96, field);
    if view.at(database) != Some(b':') {
        return None;
    }
    let user = view.run(database + 1, 96, field);
    *reached = user;
    if view.at(user) != Some(b':') {
        return None;
    }
    // Alone on its line it may have quotes in it; among other words they close it.
    let is_alone = before.is_none();
    let to = view.run(user + 1, 256, |byte| {
        byte.is_ascii_graphic() && (is_alone || !matches!(byte, b'"' | b'\'' | b'`'))
    });
    let password = &view.text[user + 1..to];
    // Versions and times have numbers there.
    let digits = |byte: &u8| byte.is_ascii_digit() || *byte == b':' || (!is_alone && *byte == b'.');
    let fits = password.len() >= 4 && !is_placeholder(password) && !password.iter().all(digits);
    fits.then(|| spot(Other::Password, user + 1, to))
}

/// `IDENTIFIED BY 'password'`.
fn sql(view: &View<'_>, end: usize, reached: &mut usize) -> Option<Spot> {
    *reached = end;
    let quote = view.run(end, 12, |byte| byte.is_ascii_alphabetic() || byte == b' ');
    if !matches!(view.at(quote), Some(b'\'' | b'"')) {
        return None;
    }
    let to = view.run(quote + 1, 256, |byte| !matches!(byte, b'\'' | b'"' | b'\n'));
    let password = &view.text[quote + 1..to];
    (password.len() >= 4 && !is_placeholder(password)).then(|| spot(Other::Password, quote + 1, to))
}
