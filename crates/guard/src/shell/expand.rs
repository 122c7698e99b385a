//! Words to what they may become: braces, `~`, variables, substitutions, globs.

use super::trace::Tracer;
use super::tree::{Piece, Rest, Word};
use super::value::{Atom, Value};
use super::variables::Vars;

/// Words that one word of a script may make.
const MAX_WORDS: usize = 256;

/// A known or unknown atom, and whether the shell would look for wildcards or blanks
/// in it.
#[derive(Clone, Copy)]
struct Marked {
    atom: Atom,
    bare: bool,
    /// From an expansion outside of quotes: cut at blanks.
    cut: bool,
}

impl Tracer<'_> {
    /// The words a word becomes.
    pub(super) fn words(&mut self, word: &Word) -> Vec<Value> {
        if let Some(list) = self.arguments_of(word) {
            return list;
        }
        let marked = self.marked(word, true);
        let separators = self
            .vars
            .get("IFS")
            .known()
            .unwrap_or_else(|| " \t\n".to_owned());
        let mut words = Vec::new();
        for one in braces(marked) {
            for cut in cut_at_blanks(&one, &separators) {
                words.push(globbed(&self.tilde(cut)));
                if words.len() > MAX_WORDS {
                    self.doubt("a word becomes too many");
                    return words;
                }
            }
        }
        words
    }

    /// The one text a word becomes where nothing is cut: assignments, targets.
    pub(super) fn text(&mut self, word: &Word) -> Value {
        let marked = self.marked(word, false);
        globbed(&self.tilde(marked))
    }

    /// The same without wildcards: patterns of `case`, here-documents.
    pub(super) fn plain(&mut self, word: &Word) -> Value {
        Value(
            self.marked(word, false)
                .iter()
                .map(|one| one.atom)
                .collect(),
        )
    }

    /// `"$@"` and `$*`.
    fn arguments_of(&mut self, word: &Word) -> Option<Vec<Value>> {
        match word.pieces.as_slice() {
            [Piece::Quoted(empty), rest @ ..] | [rest @ .., Piece::Quoted(empty)]
                if empty.is_empty() && rest.len() == 1 =>
            {
                self.all_arguments(&rest[0])
            }
            [piece] => self.all_arguments(piece),
            _ => None,
        }
    }

    fn all_arguments(&mut self, piece: &Piece) -> Option<Vec<Value>> {
        match piece {
            Piece::Variable {
                name, rest: None, ..
            } if name == "@" || name == "*" => self.arguments.clone(),
            _ => None,
        }
    }

    fn marked(&mut self, word: &Word, cut: bool) -> Vec<Marked> {
        let mut all = Vec::new();
        for piece in &word.pieces {
            match piece {
                Piece::Bare(text) => all.extend(text.chars().map(|c| Marked {
                    atom: Atom::Char(c),
                    bare: true,
                    cut: false,
                })),
                Piece::Quoted(text) => {
                    all.extend(text.chars().map(|c| quoted(Atom::Char(c))));
                    if text.is_empty() && word.pieces.len() == 1 {
                        return all;
                    }
                }
                Piece::Variable {
                    name,
                    rest,
                    quoted: in_quotes,
                } => {
                    let value = self.variable(name, rest.as_ref());
                    extend(&mut all, &value, !*in_quotes, cut);
                }
                Piece::Output {
                    script,
                    quoted: in_quotes,
                } => {
                    let value = self.output(script);
                    extend(&mut all, &value, !*in_quotes, cut);
                }
                Piece::Process(script) => {
                    let printed = self.subshell(script);
                    all.extend(self.stream(printed).0.into_iter().map(quoted));
                }
                Piece::Number(pieces) => {
                    let inner = Word {
                        written: String::new(),
                        pieces: pieces.clone(),
                    };
                    let value = self.plain(&inner);
                    self.calculated(&value);
                    all.push(quoted(Atom::Name));
                }
            }
        }
        all
    }

    fn variable(&mut self, name: &str, rest: Option<&Rest>) -> Value {
        if let Some(value) = rest.and_then(|rest| self.with_operator(name, rest)) {
            return value;
        }
        self.plain_variable(name)
    }

    fn plain_variable(&mut self, name: &str) -> Value {
        if is_secret_name(name) && !self.only_tested && !self.vars.held.contains_key(name) {
            self.doubt("it shows a variable that holds a secret by its name");
        }
        match name {
            "?" | "#" | "$" | "!" | "-" | "RANDOM" | "SECONDS" | "LINENO" | "UID" | "EUID" => {
                Value::of(Atom::Name)
            }
            "PWD" => self.vars.folder_value(),
            "@" | "*" => match &self.arguments {
                None => Value::of(Atom::Any),
                Some(words) => {
                    let mut all = Value::default();
                    for word in words {
                        if !all.0.is_empty() {
                            all.0.push(Atom::Char(' '));
                        }
                        all.push(word);
                    }
                    all
                }
            },
            _ => self.vars.get(name),
        }
    }

    /// What `${name…}` becomes; none where it is the variable alone.
    fn with_operator(&mut self, name: &str, rest: &Rest) -> Option<Value> {
        let held = self.vars.known(name);
        // Whether it is set tells nothing of what it holds.
        let before = self.only_tested;
        self.only_tested |= matches!(rest.operator.as_str(), ":+" | "+" | "length" | ":?" | "?");
        let value = self.plain_variable(name);
        self.only_tested = before;
        Some(match rest.operator.as_str() {
            "" => return None,
            "length" => Value::of(Atom::Name),
            operator @ (":-" | "-" | ":=" | "=") => {
                let other = self.plain(&rest.word);
                if operator.contains('=') && held != Some(true) {
                    self.vars.set(name, other.clone());
                }
                match held {
                    Some(true) => value,
                    Some(false) => other,
                    None => Value::of(Atom::Any),
                }
            }
            ":+" | "+" => {
                let other = self.plain(&rest.word);
                match held {
                    Some(true) => other,
                    Some(false) => Value::default(),
                    None => Value::of(Atom::Any),
                }
            }
            ":?" | "?" => {
                self.plain(&rest.word);
                value
            }
            "%" | "%%" | "#" | "##" => {
                let pattern = self.plain(&rest.word);
                trimmed(&value, &pattern, &rest.operator)
            }
            ":" => {
                let range = self.plain(&rest.word);
                self.calculated(&range);
                sliced(&value, &range)
            }
            "@" => {
                // What a variable holds is run once more (`@P`) or quoted anew.
                self.doubt("a variable's content is expanded again");
                Value::of(Atom::Any)
            }
            "!" => {
                self.doubt("a variable is named by another");
                Value::of(Atom::Any)
            }
            operator if operator.starts_with('!') => {
                self.doubt("a variable is named by another");
                Value::of(Atom::Any)
            }
            "," | ",," | "^" | "^^" => {
                self.plain(&rest.word);
                changed_case(&value, &rest.operator)
            }
            "/" | "//" | "/#" | "/%" => {
                let change = self.plain(&rest.word);
                replaced(&value, &change, &rest.operator)
            }
            operator => {
                // The index of an array is a number, and so evaluated.
                if let Some(index) = operator.strip_prefix('[') {
                    let index = index.split(']').next().unwrap_or_default();
                    self.calculated(&Value::text(index));
                }
                self.plain(&rest.word);
                Value::of(Atom::Any)
            }
        })
    }

    fn tilde(&mut self, word: Vec<Marked>) -> Vec<Marked> {
        if !word
            .first()
            .is_some_and(|one| one.bare && !one.cut && one.atom == Atom::Char('~'))
        {
            return word;
        }
        let name_end = word
            .iter()
            .position(|one| one.atom == Atom::Char('/'))
            .unwrap_or(word.len());
        let name: Option<String> = word[1..name_end]
            .iter()
            .map(|one| match one.atom {
                Atom::Char(c) if one.bare => Some(c),
                _ => None,
            })
            .collect();
        let home = match name.as_deref() {
            Some("") => Some(self.vars.get("HOME")),
            Some("+") => Some(self.vars.folder_value()),
            Some("-") => Some(Value::of(Atom::Any)),
            Some("root") => Some(Value::text("/root")),
            Some(name) => Some(self.vars.home_of(name)),
            None => None,
        };
        let Some(home) = home else {
            return word;
        };
        let mut all: Vec<Marked> = home.0.iter().map(|atom| quoted(*atom)).collect();
        all.extend(&word[name_end..]);
        all
    }
}

fn quoted(atom: Atom) -> Marked {
    Marked {
        atom,
        bare: false,
        cut: false,
    }
}

fn extend(all: &mut Vec<Marked>, value: &Value, bare: bool, cut: bool) {
    all.extend(value.0.iter().map(|atom| Marked {
        atom: *atom,
        bare,
        cut: bare && cut,
    }));
}

fn globbed(word: &[Marked]) -> Value {
    let mut atoms = Vec::new();
    let mut rest = word.iter().enumerate();
    while let Some((index, one)) = rest.next() {
        let atom = match one.atom {
            Atom::Char('*') if one.bare => Atom::Star,
            Atom::Char('?') if one.bare => Atom::One,
            Atom::Char('[') if one.bare => {
                let close = closing(&word[index + 1..]);
                match close {
                    Some(length) => {
                        for _ in 0..length + 2 {
                            rest.next();
                        }
                        Atom::One
                    }
                    None => one.atom,
                }
            }
            atom => atom,
        };
        atoms.push(atom);
    }
    Value(atoms)
}

/// How far the `]` of a set is, over `[:alpha:]` and its like.
fn closing(rest: &[Marked]) -> Option<usize> {
    let char_of = |one: &Marked| match one.atom {
        Atom::Char(c) => Some(c),
        _ => None,
    };
    let mut before = rest.first().and_then(char_of);
    let mut class = false;
    for (index, one) in rest.iter().skip(1).enumerate() {
        match one.atom {
            Atom::Char(':') if before == Some('[') => class = true,
            Atom::Char(']') if class && before == Some(':') => class = false,
            Atom::Char(']') if one.bare && !class => return Some(index),
            _ => {}
        }
        before = char_of(one);
    }
    None
}

/// `${name,,}` and `${name^}`.
fn changed_case(value: &Value, operator: &str) -> Value {
    let Some(text) = value.known() else {
        return value.clone();
    };
    let other = |text: &str| {
        if operator.starts_with(',') {
            text.to_lowercase()
        } else {
            text.to_uppercase()
        }
    };
    if operator.len() == 2 {
        return Value::text(&other(&text));
    }
    let first = text.chars().next().map_or(0, char::len_utf8);
    Value::text(&format!("{}{}", other(&text[..first]), &text[first..]))
}

/// `${name/pattern/text}`, where no wildcard is in it.
fn replaced(value: &Value, change: &Value, operator: &str) -> Value {
    let (Some(text), Some(change)) = (value.known(), change.known()) else {
        return Value::of(Atom::Any);
    };
    let (from, to) = change.split_once('/').unwrap_or((&change, ""));
    if from.is_empty() || from.contains(['*', '?', '[', '\\']) {
        return Value::of(Atom::Any);
    }
    Value::text(&match operator {
        "//" => text.replace(from, to),
        "/#" if text.starts_with(from) => format!("{to}{}", &text[from.len()..]),
        "/%" if text.ends_with(from) => format!("{}{to}", &text[..text.len() - from.len()]),
        "/" => text.replacen(from, to, 1),
        _ => text,
    })
}

/// Where an expansion outside of quotes holds blanks, the word is several.
fn cut_at_blanks(word: &[Marked], separators: &str) -> Vec<Vec<Marked>> {
    let mut words = vec![Vec::new()];
    let mut had_cut = false;
    for one in word.iter().copied() {
        let blank = matches!(one.atom, Atom::Char(c) if separators.contains(c));
        if one.cut && blank {
            had_cut = true;
            if words.last().is_some_and(|last| !last.is_empty()) {
                words.push(Vec::new());
            }
            continue;
        }
        if let Some(last) = words.last_mut() {
            last.push(one);
        }
    }
    let from_expansion = had_cut || word.is_empty();
    if from_expansion && words.len() > 1 && words.last().is_some_and(Vec::is_empty) {
        words.pop();
    }
    words
}

/// `{a,b}` and `{1..3}`.
fn braces(word: Vec<Marked>) -> Vec<Vec<Marked>> {
    let mut done = Vec::new();
    let mut todo = vec![word];
    while let Some(word) = todo.pop() {
        if done.len() + todo.len() > MAX_WORDS {
            done.push(vec![quoted(Atom::Any)]);
            break;
        }
        match first_brace(&word) {
            None => done.push(word),
            Some((begin, end, alternatives)) => {
                for alternative in alternatives.into_iter().rev() {
                    let mut whole = word[..begin].to_vec();
                    whole.extend(alternative);
                    whole.extend(&word[end + 1..]);
                    todo.push(whole);
                }
            }
        }
    }
    done
}

type Alternatives = (usize, usize, Vec<Vec<Marked>>);

fn first_brace(word: &[Marked]) -> Option<Alternatives> {
    let is = |index: usize, c: char| {
        word[index].bare && !word[index].cut && word[index].atom == Atom::Char(c)
    };
    for begin in 0..word.len() {
        if !is(begin, '{') {
            continue;
        }
        let mut depth = 0;
        let mut commas = Vec::new();
        for at in begin + 1..word.len() {
            if is(at, '{') {
                depth += 1;
            } else if is(at, ',') && depth == 0 {
                commas.push(at);
            } else if is(at, '}') && depth > 0 {
                depth -= 1;
            } else if is(at, '}') {
                let inner = &word[begin + 1..at];
                if !commas.is_empty() {
                    let mut parts = Vec::new();
                    let mut from = begin + 1;
                    for comma in commas.into_iter().chain([at]) {
                        parts.push(word[from..comma].to_vec());
                        from = comma + 1;
                    }
                    return Some((begin, at, parts));
                }
                let text: String = inner
                    .iter()
                    .map(|one| match one.atom {
                        Atom::Char(c) => c,
                        _ => '\u{fffd}',
                    })
                    .collect();
                if let Some((low, high)) = text.split_once("..") {
                    return Some((begin, at, range(low, high)));
                }
                break;
            }
        }
    }
    None
}

fn range(low: &str, high: &str) -> Vec<Vec<Marked>> {
    let spelled = |text: String| text.chars().map(|c| quoted(Atom::Char(c))).collect();
    if let (Ok(low), Ok(high)) = (low.parse::<i64>(), high.parse::<i64>())
        && low <= high
        && high.saturating_sub(low) < 64
    {
        return (low..=high)
            .map(|number| spelled(number.to_string()))
            .collect();
    }
    let letter = |text: &str| {
        let mut chars = text.chars();
        chars
            .next()
            .filter(|c| c.is_ascii_alphabetic() && chars.next().is_none())
    };
    if let (Some(low), Some(high)) = (letter(low), letter(high)) {
        return (low..=high).map(|c| spelled(c.to_string())).collect();
    }
    vec![vec![quoted(Atom::Name)]]
}

/// `${name%pattern}` and its like: known where both are.
fn trimmed(value: &Value, pattern: &Value, operator: &str) -> Value {
    let (Some(text), Some(pattern)) = (value.known(), pattern.known()) else {
        let narrow = value
            .0
            .iter()
            .all(|atom| !matches!(atom, Atom::Any | Atom::Char('/')));
        return Value::of(if narrow { Atom::Name } else { Atom::Any });
    };
    let cuts: Vec<usize> = (0..=text.len())
        .filter(|at| text.is_char_boundary(*at))
        .collect();
    let fits = |at: &&usize| {
        let part = if operator.starts_with('%') {
            &text[**at..]
        } else {
            &text[..**at]
        };
        missiond_core::glob(&pattern, part)
    };
    let long = operator.len() == 2;
    let from_end = operator.starts_with('%');
    let cut = if long == from_end {
        cuts.iter().find(fits)
    } else {
        cuts.iter().rev().find(fits)
    };
    let kept = match cut {
        None => &text[..],
        Some(at) if from_end => &text[..*at],
        Some(at) => &text[*at..],
    };
    Value::text(kept)
}

/// `${name:offset:length}`.
fn sliced(value: &Value, range: &Value) -> Value {
    let known = || {
        let (text, range) = (value.known()?, range.known()?);
        let (offset, length) = range.split_once(':').unwrap_or((&range, ""));
        let chars: Vec<char> = text.chars().collect();
        let offset: usize = offset.trim().parse().ok()?;
        let length: usize = match length.trim() {
            "" => chars.len(),
            length => length.parse().ok()?,
        };
        let part: String = chars.iter().skip(offset).take(length).collect();
        Some(Value::text(&part))
    };
    known().unwrap_or_else(|| Value::of(Atom::Any))
}

/// Whether a variable of the session holds a key or a password by its name.
fn is_secret_name(name: &str) -> bool {
    const WORDS: [&str; 9] = [
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "PASSPHRASE",
        "API_KEY",
        "APIKEY",
        "ACCESS_KEY",
        "PRIVATE_KEY",
    ];
    let name = name.to_ascii_uppercase();
    WORDS.iter().any(|word| name.contains(word))
}

/// What variables hold.
impl Vars {
    pub(super) fn home_of(&self, user: &str) -> Value {
        let home = self.get("HOME").known();
        match home {
            Some(home) if home.rsplit('/').next() == Some(user) => Value::text(&home),
            _ => Value::text(&format!("/home/{user}")),
        }
    }
}
