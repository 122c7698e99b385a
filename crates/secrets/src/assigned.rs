//! What is assigned to a name that announces a secret: `password = …`, `"token": "…"`,
//! `export API_KEY=…`, `--password …`, `<secret>…</secret>`, in whatever language. The name
//! has been found already; here is read how the value is attached to it, where the value ends,
//! and whether it is a secret at all.

use crate::form::{Piece, pieces_from};
use crate::value::{
    contains, describes, entropy, is_camel, is_expression, is_placeholder, is_random, is_words,
};
use crate::view::View;

/// How much a name says about its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// People choose passwords: a word can be one.
    Password,
    /// Several words may be one.
    Passphrase,
    /// Machines make tokens: only what is random is one.
    Token,
    /// A name as general as `_key`: only what is long and very random.
    Key,
}

/// A value and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Value {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) goes_on: bool,
    manner: Manner,
    quoted: bool,
    /// In the quotes of code in a text.
    code: bool,
}

/// How a value is attached to its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// `name = value`, `name: value`.
    Assigned,
    /// `NAME=value` of a shell, and `--name=value`.
    Environment,
    /// `--name value`, `.netrc`.
    Argument,
    /// `name("value")`, `("name", "value")`, `IDENTIFIED BY 'value'`.
    Call,
    /// `the name is value`.
    Prose,
}

/// A value's end, or from where on more has to arrive before it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    Nothing,
    Value(Value),
}

/// Names in which the telling part means something else.
const OTHER_KEYS: [&[u8]; 20] = [
    b"websocket",
    b"idempotency",
    b"cache_key",
    b"cache-key",
    b"cachekey",
    b"public_key",
    b"public-key",
    b"publickey",
    b"primary_key",
    b"foreign_key",
    b"partition_key",
    b"routing_key",
    b"sort_key",
    b"object_key",
    b"dedup_key",
    b"row_key",
    b"publishable",
    b"key_id",
    b"tokenizer",
    b"sitekey",
];

/// The value of the name whose telling part stands at `start..end`. What is read so far
/// is written to `reached`: nothing before it belongs to a value.
pub(crate) fn value_of(
    view: &View<'_>,
    start: usize,
    end: usize,
    family: Family,
    reached: &mut usize,
) -> Reading {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    *reached = end;
    let name_end = view.run(end, 32, word);
    if !may_follow(&view.text[start..end], &view.text[end..name_end]) {
        return Reading::Nothing;
    }
    let name_start = view.run_back(start, 48, word);
    let name = &view.text[name_start..name_end];
    if OTHER_KEYS.iter().any(|other| contains(name, other)) {
        return Reading::Nothing;
    }
    *reached = name_end;
    let Some((from, manner)) = separator(view, name_start, name_end, family) else {
        return Reading::Nothing;
    };
    *reached = from;
    match read(view, from, manner, reached) {
        Some(value) => Reading::Value(value),
        None => Reading::Nothing,
    }
}

/// Whether a name that goes on like this still names a secret.
fn may_follow(name: &[u8], rest: &[u8]) -> bool {
    const OTHER: [&[u8]; 42] = [
        b"file",
        b"path",
        b"url",
        b"uri",
        b"id",
        b"name",
        b"len",
        b"length",
        b"count",
        b"type",
        b"ttl",
        b"expir",
        b"policy",
        b"field",
        b"label",
        b"hint",
        b"placeholder",
        b"prefix",
        b"regex",
        b"pattern",
        b"less",
        b"age",
        b"min",
        b"max",
        b"limit",
        b"budget",
        b"usage",
        b"rules",
        b"reset",
        b"strength",
        b"input",
        b"mode",
        b"algorithm",
        b"size",
        b"at",
        b"status",
        b"arg",
        b"encryption",
        b"mask",
        b"mgr",
        b"manager",
        b"access_mask",
    ];
    let Some(&first) = rest.first() else {
        return true;
    };
    let capitals = name.iter().all(|byte| !byte.is_ascii_lowercase());
    let joined = match first {
        b'_' | b'-' | b'0'..=b'9' => true,
        b's' | b'S' if rest.len() == 1 => true,
        b'A'..=b'Z' => !capitals,
        _ => false,
    };
    let tail = rest.trim_ascii();
    let tail = match tail {
        [b'_' | b'-', tail @ ..] => tail,
        tail => tail,
    };
    joined
        && !OTHER.iter().any(|other| {
            tail.len() >= other.len()
                && tail[..other.len()].eq_ignore_ascii_case(other)
                && tail.get(other.len()).is_none_or(|next| {
                    !next.is_ascii_lowercase() || *other == b"expir" || *next == b's'
                })
        })
}

fn blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

/// Where the value begins, without blanks before it.
fn separator(
    view: &View<'_>,
    name_start: usize,
    name_end: usize,
    family: Family,
) -> Option<(usize, Manner)> {
    let option = view.text[name_start..name_end].starts_with(b"-");
    let mut at = view.colours(name_end);
    while view.at(at) == Some(b'\\')
        && view
            .at(at + 1)
            .is_some_and(|next| quote(next) || next == b'\\')
    {
        at += 1;
    }
    let closed = view.at(at).is_some_and(quote);
    if closed {
        at += 1;
    }
    if view.at(at) == Some(b']') {
        at += 1;
    }
    let after = view.run(at, 24, blank);
    let next = view.at(after)?;
    if let Some(value) = value_beside(view, after, closed) {
        return Some((value, Manner::Assigned));
    }
    match next {
        b'=' | b':' => {
            let mut end = after + 1;
            while view.at(end).is_some_and(|byte| matches!(byte, b'=' | b'>')) && end < after + 3 {
                end += 1;
            }
            if view.at(end) == Some(b'=') {
                end += 1;
            }
            if next == b':' && view.at(end) == Some(b':') {
                return None;
            }
            let from = view.colours(view.run(view.colours(end), 24, blank));
            let environment =
                next == b'=' && at == after && !view.at(end).is_some_and(blank) && !closed;
            let manner = if option && next == b'=' {
                Manner::Argument
            } else if environment {
                Manner::Environment
            } else {
                Manner::Assigned
            };
            if next == b':'
                && let Some(typed) = behind_a_type(view, from)
            {
                return Some((typed, Manner::Assigned));
            }
            Some((from, manner))
        }
        b'>' if view
            .before(name_start)
            .is_some_and(|byte| matches!(byte, b'<' | b':')) =>
        {
            Some((after + 1, Manner::Assigned))
        }
        b'(' if !closed && view.at(after + 1).is_some_and(quote) => Some((after + 1, Manner::Call)),
        b',' if closed => {
            let from = view.run(after + 1, 24, blank);
            view.at(from)
                .is_some_and(|byte| quote(byte) || byte == b'\\')
                .then_some((from, Manner::Call))
        }
        _ if after > at && !closed && option => Some((after, Manner::Argument)),
        _ if after > at && !closed && is_set(view, name_start, after) => {
            Some((after, Manner::Argument))
        }
        _ if after > at
            && !closed
            && contains(&view.text[name_start..name_end], b"requirepass") =>
        {
            Some((after, Manner::Argument))
        }
        b'f' if after > at && family == Family::Password && view.starts_with(after, b"for ") => {
            let whom = view.run(after + 4, 64, |byte| {
                byte.is_ascii_graphic() && byte != b':'
            });
            (view.at(whom) == Some(b':')).then(|| (view.run(whom + 1, 4, blank), Manner::Prose))
        }
        b'i' | b'I' if after > at && !closed && view.starts_with_ignoring_case(after, b"is ") => {
            Some((view.run(after + 3, 4, blank), Manner::Prose))
        }
        _ if after > at
            && !closed
            && let Some(value) = typed(view, after) =>
        {
            Some((value, Manner::Assigned))
        }
        b'\'' if after > at && !closed && family == Family::Password => Some((after, Manner::Call)),
        _ if after > at && !closed && family == Family::Password && in_netrc(view, name_start) => {
            Some((after, Manner::Argument))
        }
        _ => None,
    }
}

/// `npm config set NAME value`, `aws configure set NAME value`.
fn is_set(view: &View<'_>, name_start: usize, value: usize) -> bool {
    if view.run(value, 8, |byte| byte.is_ascii_graphic()) < value + 8 {
        return false;
    }
    let back = view.run_back(name_start, 64, |byte| byte != b'\n' && byte != b';');
    let before = &view.text[back..name_start];
    contains(before, b"config") && contains(before, b" set ")
}

/// `name Type = "value"`: where the value begins.
fn typed(view: &View<'_>, from: usize) -> Option<usize> {
    let of_type =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'*' | b'[' | b']' | b'.');
    let end = view.run(from, 24, of_type);
    let equals = view.run(end, 4, blank);
    if end == from || view.at(equals) != Some(b'=') {
        return None;
    }
    let value = view.run(equals + 1, 4, blank);
    view.at(value).is_some_and(quote).then_some(value)
}

/// `- name: NAME` with `value: …` in the next line, `key="NAME" value="…"`.
fn value_beside(view: &View<'_>, after: usize, closed: bool) -> Option<usize> {
    let mut at = after;
    if matches!(view.at(at), Some(b'\n' | b'\r')) {
        at = view.run(at, 40, |byte| blank(byte) || byte == b'\n' || byte == b'\r');
    } else if !closed {
        return None;
    }
    if !view.starts_with_ignoring_case(at, b"value") {
        return None;
    }
    let sign = view.run(at + 5, 2, blank);
    if !matches!(view.at(sign), Some(b':' | b'=')) {
        return None;
    }
    let value = view.run(sign + 1, 8, blank);
    view.at(value)
        .is_some_and(|byte| !matches!(byte, b'\n' | b'\r'))
        .then_some(value)
}

/// `name: Type = "value"`: where the value begins.
fn behind_a_type(view: &View<'_>, from: usize) -> Option<usize> {
    let of_type = |byte: u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'_' | b'<' | b'>' | b'&' | b'[' | b']' | b'?' | b':')
    };
    let end = view.run(from, 32, of_type);
    let equals = view.run(end, 2, blank);
    if end == from || view.at(equals) != Some(b'=') {
        return None;
    }
    let value = view.run(equals + 1, 4, blank);
    view.at(value).is_some_and(quote).then_some(value)
}

fn in_netrc(view: &View<'_>, name_start: usize) -> bool {
    let back = view.run_back(name_start, 96, |byte| byte != b'}' && byte != b';');
    let before = &view.text[back..name_start];
    contains(before, b"login ") && (contains(before, b"machine ") || contains(before, b"default "))
        || before.trim_ascii_start().starts_with(b"login ")
}

/// Reads the value from its first byte, quotes included.
fn read(view: &View<'_>, from: usize, manner: Manner, reached: &mut usize) -> Option<Value> {
    let mut at = from;
    // `b"…"`, `r'…'`, `f"…"`.
    if view
        .at(at)
        .is_some_and(|byte| matches!(byte, b'b' | b'r' | b'f' | b'u' | b'L'))
        && view.at(at + 1).is_some_and(quote)
    {
        at += 1;
    }
    let mut escaped = false;
    while view.at(at) == Some(b'\\') && at < from + 4 {
        escaped = true;
        at += 1;
    }
    let mut mark = None;
    if let Some(byte) = view.at(at).filter(|&byte| quote(byte)) {
        mark = Some(byte);
        at += 1;
        // Three of a kind, as Python and TOML have them.
        if view.at(at) == Some(byte) && view.at(at + 1) == Some(byte) {
            at += 2;
        }
    } else if escaped {
        return None;
    }
    *reached = at;
    let at = scheme(view, at);
    *reached = at;
    let mut end = at;
    let limit = view.limit();
    while let Some(byte) = view.at(end) {
        match mark {
            Some(mark) => {
                if byte == mark || byte == b'\n' || byte == b'\r' {
                    break;
                }
                if byte == b'\\' {
                    if escaped {
                        break;
                    }
                    end += 1;
                    if view.at(end).is_none() {
                        break;
                    }
                }
            }
            None => {
                let ends = byte.is_ascii_whitespace()
                    || byte < b' '
                    || matches!(
                        byte,
                        b',' | b';'
                            | b')'
                            | b'}'
                            | b']'
                            | b'"'
                            | b'\''
                            | b'`'
                            | b'<'
                            | b'\\'
                            | b'|'
                    )
                    || byte == b'>'
                    || byte == b'&' && manner != Manner::Argument;
                if ends {
                    break;
                }
            }
        }
        end += 1;
    }
    let end = end.min(limit);
    (end > at).then_some(Value {
        start: at,
        end,
        goes_on: end == limit && view.at(end).is_none(),
        manner,
        quoted: mark.is_some(),
        code: mark == Some(b'`'),
    })
}

/// Behind `Bearer ` and its like.
fn scheme(view: &View<'_>, at: usize) -> usize {
    const SCHEMES: [&[u8]; 6] = [
        b"bearer ", b"basic ", b"token ", b"bot ", b"apikey ", b"digest ",
    ];
    for scheme in SCHEMES {
        if view.starts_with_ignoring_case(at, scheme) {
            return view.run(at + scheme.len(), 4, blank);
        }
    }
    at
}

impl Value {
    /// Whether the value is a secret, by what its name says about it.
    pub(crate) fn is_secret(self, view: &View<'_>, name: (usize, usize), family: Family) -> bool {
        let value = &view.text[self.start..self.end];
        let next = view.at(self.end);
        if is_placeholder(value) || value.len() > 512 && family == Family::Password {
            return false;
        }
        let capitals = view.text[name.0..name.1]
            .iter()
            .all(|byte| !byte.is_ascii_lowercase());
        // In a shell's variable there are no expressions.
        let shell = self.manner == Manner::Environment && capitals && next != Some(b'(');
        if !self.quoted && !shell && is_expression(value, next) {
            return false;
        }
        if self.manner == Manner::Prose {
            let digit = value.iter().any(u8::is_ascii_digit);
            return value.len() >= 8 && digit && is_token(value) && !value.starts_with(b"/");
        }
        match family {
            Family::Password => self.is_password(value, capitals),
            Family::Passphrase => {
                value.len() >= 6
                    && (self.quoted
                        || self.manner == Manner::Environment
                        || has_digit_or_sign(value))
                    && !describes(value)
            }
            Family::Token => is_token(value),
            Family::Key => {
                value.len() >= 16
                    && is_token(value)
                    && entropy(value)
                        > if value.iter().all(u8::is_ascii_hexdigit) {
                            2.8
                        } else {
                            3.4
                        }
                    && value.iter().filter(|byte| byte.is_ascii_digit()).count() >= 2
            }
        }
    }

    fn is_password(self, value: &[u8], capitals: bool) -> bool {
        let foreign = value.iter().filter(|byte| **byte >= 0x80).count();
        // A sentence, and what a test or a macro passes on.
        if foreign * 2 > value.len()
            || self.manner == Manner::Call && (is_words(value) || value.contains(&b'/'))
        {
            return false;
        }
        if value.len() < 6
            || value.contains(&b' ')
                && !(self.quoted
                    && has_digit_or_sign(value)
                    && value.iter().filter(|&&byte| byte == b' ').count() < 2)
        {
            return false;
        }
        if value.starts_with(b"/") || value.starts_with(b"./") || value.starts_with(b"http") {
            return false;
        }
        let letters = value.iter().all(|byte| {
            byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'-' | b'.' | b'/' | b':')
        });
        if letters {
            let one_word = value.iter().all(u8::is_ascii_alphabetic);
            if one_word && value.len() >= 10 && is_random(value) && !is_camel(value) {
                return true;
            }
            let meant = self.quoted && !self.code && self.manner != Manner::Call
                || matches!(self.manner, Manner::Argument)
                || self.manner == Manner::Environment && capitals;
            return meant && one_word && !describes(value);
        }
        if self.quoted || self.manner != Manner::Assigned {
            return true;
        }
        has_digit_or_sign(value) && !value.ends_with(b"?") && !value.ends_with(b":")
    }

    /// Whether the value has the form a kind says it has.
    pub(crate) fn has_form(self, view: &View<'_>, pieces: &[Piece]) -> Option<(usize, bool)> {
        let (end, goes_on) = pieces_from(pieces, view, self.start)?;
        let found = &view.text[self.start..end];
        let whole = end >= self.end || !view.text[end].is_ascii_alphanumeric();
        (whole && !is_placeholder(found) && is_random(found) && !is_words(found))
            .then_some((end.max(self.end.min(end)), goes_on))
    }
}

/// A number of a program, with what says its type.
fn is_number(value: &[u8]) -> bool {
    let end = value
        .iter()
        .position(|byte| !matches!(byte, b'0'..=b'9' | b'_' | b'.'))
        .unwrap_or(value.len());
    let types: [&[u8]; 14] = [
        b"u8", b"u16", b"u32", b"u64", b"u128", b"usize", b"i8", b"i16", b"i32", b"i64", b"isize",
        b"f32", b"f64", b"L",
    ];
    end > 0 && types.contains(&&value[end..])
}

fn has_digit_or_sign(value: &[u8]) -> bool {
    value
        .iter()
        .any(|byte| byte.is_ascii_digit() || b"!@#%^&+*~$?".contains(byte))
}

fn is_token(value: &[u8]) -> bool {
    let opaque = value.iter().all(|byte| byte.is_ascii_graphic());
    if value.len() < 8 || !opaque || !is_random(value) || is_words(value) || is_number(value) {
        return false;
    }
    if value
        .iter()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b':' | b'_' | b','))
    {
        return false;
    }
    let path = value.starts_with(b"/")
        || value.starts_with(b"./")
        || value.starts_with(b"~/")
        || contains(value, b"://");
    !path && entropy(value) > 2.5
}
