//! The heads of requests and answers, read strictly. What two programs could read
//! differently is refused: lines that end otherwise than they should, folded lines, two
//! lengths, a length beside chunks, blanks before a colon, control characters. So what is
//! judged here is what the host behind it reads.

use missiond_guard::policy::Host;

/// Bytes of a request's head.
pub const MAX_REQUEST_HEAD: usize = 16 * 1024;
/// Bytes of an answer's head.
pub const MAX_ANSWER_HEAD: usize = 64 * 1024;
const MAX_FIELDS: usize = 128;

/// Why a head is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadHead {
    #[error("the head is longer than {0} bytes")]
    TooLong(usize),
    #[error("{0}")]
    Malformed(&'static str),
    #[error("{0}")]
    Host(String),
}

const fn bad<T>(why: &'static str) -> Result<T, BadHead> {
    Err(BadHead::Malformed(why))
}

/// A header field; its name in small letters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub value: Vec<u8>,
}

impl Field {
    fn text(&self) -> &str {
        std::str::from_utf8(&self.value).unwrap_or_default()
    }
}

/// How much of a body follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    None,
    Bytes(u64),
    Chunked,
    /// As much as comes; of an answer alone.
    UntilClose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    Http10,
    Http11,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHead {
    pub method: String,
    pub host: Host,
    pub port: u16,
    /// Path and query; none of CONNECT.
    pub path: Option<String>,
    pub version: Version,
    pub fields: Vec<Field>,
    pub length: Length,
    pub expects_continue: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerHead {
    pub version: Version,
    pub status: u16,
    pub reason: String,
    pub fields: Vec<Field>,
    pub length: Length,
}

/// Where a head ends, if it has come to its end.
pub fn end_of_head(bytes: &[u8], most: usize) -> Result<Option<usize>, BadHead> {
    match bytes.windows(4).position(|four| four == b"\r\n\r\n") {
        Some(at) if at + 4 <= most => Ok(Some(at + 4)),
        None if bytes.len() < most => Ok(None),
        _ => Err(BadHead::TooLong(most)),
    }
}

/// A request's head as a client sends it to a proxy; all of `bytes` is the head.
pub fn request(bytes: &[u8]) -> Result<RequestHead, BadHead> {
    let (first, fields) = lines(bytes)?;
    let mut parts = first.split(|byte| *byte == b' ');
    let (Some(method), Some(target), Some(version), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return bad("the first line is not a method, a target and a version");
    };
    let is_method = (1..=24).contains(&method.len())
        && method
            .iter()
            .all(|byte| byte.is_ascii_uppercase() || *byte == b'-');
    if !is_method {
        return bad("the method is not in capital letters");
    }
    let version = version_of(version)?;
    let is_target = |byte: &u8| (0x21..0x7f).contains(byte);
    if target.is_empty() || !target.iter().all(is_target) {
        return bad("the target holds what no target may");
    }
    let (Ok(method), Ok(target)) = (std::str::from_utf8(method), std::str::from_utf8(target))
    else {
        return bad("the first line is not ASCII");
    };
    let (host, port, path) = if method == "CONNECT" {
        let (host, port) = authority(target, None)?;
        (host, port, None)
    } else {
        let (host, port, path) = absolute(target)?;
        (host, port, Some(path))
    };
    check_host_field(&fields, &host, port, version)?;
    let length = request_length(&fields, version)?;
    if method == "CONNECT" && length != Length::None {
        return bad("a CONNECT has no body");
    }
    let expected = one(&fields, "expect")?.map(Field::text);
    let expects_continue = match expected {
        None => false,
        Some(what) if what.eq_ignore_ascii_case("100-continue") => version == Version::Http11,
        Some(_) => return bad("what it expects is not known"),
    };
    Ok(RequestHead {
        method: method.to_owned(),
        host,
        port,
        path,
        version,
        fields,
        length,
        expects_continue,
    })
}

/// An answer's head; all of `bytes` is the head.
pub fn answer(bytes: &[u8], method: &str) -> Result<AnswerHead, BadHead> {
    let (first, fields) = lines(bytes)?;
    let (version, rest) = first.split_at_checked(8).unwrap_or((first, b""));
    let version = version_of(version)?;
    let code = match rest {
        [
            b' ',
            a @ b'1'..=b'5',
            b @ b'0'..=b'9',
            c @ b'0'..=b'9',
            rest @ ..,
        ] if rest.is_empty() || rest[0] == b' ' => {
            let digit = |byte: &u8| u16::from(byte - b'0');
            digit(a) * 100 + digit(b) * 10 + digit(c)
        }
        _ => return bad("the first line of the answer has no status"),
    };
    let reason = String::from_utf8_lossy(rest.get(5..).unwrap_or_default());
    let reason: String = reason
        .chars()
        .filter(|c| !c.is_control())
        .take(200)
        .collect();
    let length = answer_length(&fields, code, method, version)?;
    Ok(AnswerHead {
        version,
        status: code,
        reason,
        fields,
        length,
    })
}

type Lines<'b> = (&'b [u8], Vec<Field>);

fn lines(bytes: &[u8]) -> Result<Lines<'_>, BadHead> {
    let Some(bytes) = bytes.strip_suffix(b"\r\n\r\n") else {
        return bad("the head has no end");
    };
    let mut lines = Vec::new();
    let mut rest = bytes;
    loop {
        let end = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
        let Some(end) = end else {
            lines.push(rest);
            break;
        };
        let (line, after) = rest.split_at(end);
        let Some(after) = after.strip_prefix(b"\r\n") else {
            return bad("a line ends otherwise than with CR and LF");
        };
        lines.push(line);
        rest = after;
    }
    let Some((first, fields)) = lines.split_first() else {
        return bad("the head is empty");
    };
    if first.is_empty() {
        return bad("the head is empty");
    }
    if fields.len() > MAX_FIELDS {
        return bad("the head has more than 128 fields");
    }
    let fields: Result<Vec<Field>, BadHead> = fields.iter().map(|line| field(line)).collect();
    Ok((first, fields?))
}

fn field(line: &[u8]) -> Result<Field, BadHead> {
    let Some(colon) = line.iter().position(|byte| *byte == b':') else {
        return bad("a field has no colon");
    };
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    if name.is_empty() || !name.iter().all(is_token) {
        return bad("the name of a field holds what no name may, or a line is folded");
    }
    let is_value = |byte: &u8| *byte == b'\t' || (*byte >= 0x20 && *byte != 0x7f);
    if !value.iter().all(is_value) {
        return bad("a field holds control characters");
    }
    let name: String = name
        .iter()
        .map(|byte| char::from(byte.to_ascii_lowercase()))
        .collect();
    Ok(Field {
        name,
        value: value.trim_ascii().to_vec(),
    })
}

fn version_of(bytes: &[u8]) -> Result<Version, BadHead> {
    match bytes {
        b"HTTP/1.1" => Ok(Version::Http11),
        b"HTTP/1.0" => Ok(Version::Http10),
        _ => bad("the version is neither HTTP/1.1 nor HTTP/1.0"),
    }
}

/// `http://host:port/path?query`.
fn absolute(target: &str) -> Result<(Host, u16, String), BadHead> {
    let Some(rest) = target
        .get(..7)
        .filter(|scheme| scheme.eq_ignore_ascii_case("http://"))
        .map(|_| &target[7..])
    else {
        return bad("this is a proxy: the target is `http://host/path`, and https goes by CONNECT");
    };
    if rest.contains('#') {
        return bad("the target has a fragment");
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (place, path) = rest.split_at(end);
    let (host, port) = authority(place, Some(80))?;
    let path = match path {
        "" => "/".to_owned(),
        path if path.starts_with('?') => format!("/{path}"),
        path => path.to_owned(),
    };
    Ok((host, port, path))
}

fn authority(text: &str, usual: Option<u16>) -> Result<(Host, u16), BadHead> {
    if text.contains('@') {
        return bad("a name and a password do not belong into a target");
    }
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.find(']')) {
        Some(end) => {
            let (host, rest) = text.split_at(end + 2);
            (host, rest)
        }
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    let port = match (port.strip_prefix(':'), usual) {
        (Some(port), _) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            port.parse().ok().filter(|port| *port > 0)
        }
        (None, usual) if port.is_empty() => usual,
        _ => None,
    };
    let Some(port) = port else {
        return bad("the target has no port from 1 to 65535");
    };
    let host = host
        .parse::<Host>()
        .map_err(|error| BadHead::Host(error.to_string()))?;
    Ok((host, port))
}

/// The one field of a name; two are refused.
fn one<'f>(fields: &'f [Field], name: &str) -> Result<Option<&'f Field>, BadHead> {
    let mut found = fields.iter().filter(|field| field.name == name);
    let first = found.next();
    if found.next().is_some() {
        return bad("a field that counts is there twice");
    }
    Ok(first)
}

/// Who is asked stands in the target; a field that says otherwise is refused.
fn check_host_field(
    fields: &[Field],
    host: &Host,
    port: u16,
    version: Version,
) -> Result<(), BadHead> {
    let Some(field) = one(fields, "host")? else {
        return match version {
            Version::Http10 => Ok(()),
            Version::Http11 => bad("there is no Host field"),
        };
    };
    let said = authority(field.text(), Some(port))?;
    if said == (host.clone(), port) {
        Ok(())
    } else {
        bad("the Host field names another host than the target")
    }
}

fn request_length(fields: &[Field], version: Version) -> Result<Length, BadHead> {
    match (one(fields, "transfer-encoding")?, content_length(fields)?) {
        (None, None) => Ok(Length::None),
        (None, Some(bytes)) => Ok(Length::Bytes(bytes)),
        (Some(_), Some(_)) => bad("there is a length and a transfer encoding"),
        (Some(coding), None) => {
            if version == Version::Http11 && coding.text().eq_ignore_ascii_case("chunked") {
                Ok(Length::Chunked)
            } else {
                bad("the transfer encoding is not `chunked`")
            }
        }
    }
}

fn answer_length(
    fields: &[Field],
    status: u16,
    method: &str,
    version: Version,
) -> Result<Length, BadHead> {
    let length = content_length(fields)?;
    if status < 200 || matches!(status, 204 | 304) || method == "HEAD" {
        return Ok(Length::None);
    }
    match (one(fields, "transfer-encoding")?, length) {
        (None, Some(bytes)) => Ok(Length::Bytes(bytes)),
        (None, None) => Ok(Length::UntilClose),
        (Some(coding), None)
            if version == Version::Http11 && coding.text().eq_ignore_ascii_case("chunked") =>
        {
            Ok(Length::Chunked)
        }
        _ => bad("the answer's length can be read in two ways"),
    }
}

fn content_length(fields: &[Field]) -> Result<Option<u64>, BadHead> {
    let Some(field) = one(fields, "content-length")? else {
        return Ok(None);
    };
    let text = field.text();
    let digits =
        !text.is_empty() && text.len() <= 18 && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(bytes) if digits => Ok(Some(bytes)),
        _ => bad("the length is not a number"),
    }
}

/// Fields that are between two neighbours alone.
const HOP_BY_HOP: [&str; 10] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "content-length",
];

/// The fields that go on, without those between neighbours and those that the `Connection`
/// field names.
pub fn passed_on(fields: &[Field]) -> impl Iterator<Item = &Field> {
    let named: Vec<String> = fields
        .iter()
        .filter(|field| matches!(field.name.as_str(), "connection" | "proxy-connection"))
        .flat_map(|field| field.text().split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    fields.iter().filter(move |field| {
        !HOP_BY_HOP.contains(&field.name.as_str()) && !named.contains(&field.name)
    })
}

/// What a client calls itself, in one short line of plain characters.
#[must_use]
pub fn client(fields: &[Field]) -> Option<String> {
    let named = fields.iter().find(|field| field.name == "user-agent")?;
    let plain = named.value.iter().map(|byte| char::from(*byte));
    let plain: String = plain
        .filter(|c| c.is_ascii_graphic() || *c == ' ')
        .take(80)
        .collect();
    let plain = plain.trim().to_owned();
    (!plain.is_empty()).then_some(plain)
}

/// A field by which a request says that it is another one than its method.
#[must_use]
pub fn overrides_method(fields: &[Field]) -> bool {
    let names = [
        "x-http-method-override",
        "x-http-method",
        "x-method-override",
    ];
    fields
        .iter()
        .any(|field| names.contains(&field.name.as_str()))
}

#[cfg(test)]
#[path = "head_tests.rs"]
mod tests;
