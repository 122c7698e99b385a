//! What a few harmless programs print, where it can be told without running them.

use super::value::{Atom, Value};

/// The output of a program with these words and this input, as far as it is known.
pub(super) fn output(
    program: &str,
    words: &[Value],
    input: Option<&Value>,
    folder: Option<&str>,
) -> Value {
    exact(program, words, input, folder).unwrap_or_else(|| Value::of(shape(program, words, input)))
}

fn exact(
    program: &str,
    words: &[Value],
    input: Option<&Value>,
    folder: Option<&str>,
) -> Option<Value> {
    let known: Option<Vec<String>> = words.iter().map(Value::known).collect();
    let line = |text: String| Some(Value::text(&format!("{text}\n")));
    match program {
        "echo" => {
            let mut words = words;
            let mut escapes = false;
            while let Some(option) = words.first().and_then(Value::known) {
                let is_option = option.len() > 1
                    && option.starts_with('-')
                    && option[1..].chars().all(|c| "neE".contains(c));
                if !is_option {
                    break;
                }
                escapes |= option.contains('e');
                words = &words[1..];
            }
            let mut all = Value::default();
            for (index, word) in words.iter().enumerate() {
                if index > 0 {
                    all.0.push(Atom::Char(' '));
                }
                all.push(word);
            }
            if escapes {
                all = Value::text(&unescaped(&all.known()?)?);
            }
            all.0.push(Atom::Char('\n'));
            Some(all)
        }
        "printf" => {
            let known = known?;
            let known = match known.first()?.as_str() {
                "--" => &known[1..],
                _ => &known[..],
            };
            let (format, rest) = known.split_first()?;
            let format = unescaped(format)?;
            let mut rest = rest.iter();
            let mut made = String::new();
            let mut parts = format.split('%');
            made.push_str(parts.next()?);
            for part in parts {
                let after = part.strip_prefix(['s', 'b', 'd'])?;
                let word = rest.next().cloned().unwrap_or_default();
                made.push_str(&if part.starts_with('b') {
                    unescaped(&word)?
                } else {
                    word
                });
                made.push_str(after);
            }
            rest.next().is_none().then(|| Value::text(&made))
        }
        "cat" | "tee" if words.is_empty() || known.as_deref()? == ["-"] || program == "tee" => {
            input.cloned()
        }
        "head" | "tail" | "sort" | "uniq" | "shuf" => {
            let text = input?.known()?;
            let one = text.trim_end_matches('\n').lines().count() == 1;
            let plain = known?
                .iter()
                .all(|word| word.starts_with('-') && word.len() < 6 || word == "1");
            (one && plain && !text.contains('\0')).then(|| Value::text(&text))
        }
        "sed" => {
            let known = known?;
            let [change] = known.as_slice() else {
                return None;
            };
            let rest = change.strip_prefix('s')?;
            let mark = rest.chars().next()?;
            let mut parts = rest[mark.len_utf8()..].split(mark);
            let (from, to, flags) = (parts.next()?, parts.next()?, parts.next()?);
            let plain = |text: &str| !text.contains(['\\', '[', '*', '.', '^', '$', '&', '+', '?']);
            let text = input?.known()?;
            if !plain(from) || !plain(to) || from.is_empty() || parts.next().is_some() {
                return None;
            }
            match flags {
                "g" => Some(Value::text(&text.replace(from, to))),
                "" if text.trim_end().lines().count() == 1 => {
                    Some(Value::text(&text.replacen(from, to, 1)))
                }
                _ => None,
            }
        }
        "which" | "type" | "command"
            if program != "command"
                || known.as_deref()?.first().is_some_and(|word| word == "-v") =>
        {
            let known = known?;
            let name = known.last().filter(|name| !name.starts_with('-'))?;
            line(format!("/usr/bin/{name}"))
        }
        "pwd" => folder.map(|folder| Value::text(&format!("{folder}\n"))),
        "openssl" => {
            let known = known?;
            let has = |word: &str| known.iter().any(|known| known == word);
            let base64 = has("base64") || has("-base64") || has("-a");
            (base64 && has("-d") && !has("-in"))
                .then(|| decoded(&input?.known()?))
                .flatten()
        }
        "base64" => {
            let known = known?;
            let first = known.first()?.as_str();
            let long = first.len() > 2 && "--decode".starts_with(first);
            let decodes = long || matches!(first, "-d" | "-D" | "-di" | "-id");
            (decodes && known.len() == 1)
                .then(|| decoded(&input?.known()?))
                .flatten()
        }
        "xxd" => {
            let known = known?;
            let plain = known
                .iter()
                .all(|word| matches!(word.as_str(), "-r" | "-p" | "-rp" | "-ps"));
            plain.then(|| from_hex(&input?.known()?)).flatten()
        }
        "rev" if words.is_empty() => {
            let text = input?.known()?;
            let lines = text
                .lines()
                .map(|line| line.chars().rev().collect::<String>());
            line(lines.collect::<Vec<_>>().join("\n"))
        }
        "tr" => translated(&known?, &input?.known()?),
        "basename" => {
            let known = known?;
            let [path] = known.as_slice() else {
                return None;
            };
            line(path.rsplit('/').find(|name| !name.is_empty())?.to_owned())
        }
        "find" => {
            let mut all = Value::default();
            for path in found(words)? {
                all.push(&path);
                all.0.push(Atom::Char('\n'));
            }
            Some(all)
        }
        "git" if known.as_deref()? == ["rev-parse", "--show-toplevel"] => {
            folder.map(|folder| Value::text(&format!("{folder}\n")))
        }
        _ => None,
    }
}

/// The paths that `find` prints where a name is asked for; none where it is not so simple.
pub(super) fn found(words: &[Value]) -> Option<Vec<Value>> {
    let known: Vec<String> = words.iter().map(ToString::to_string).collect();
    let other = [
        "-o", "-or", "!", "-not", ",", "-printf", "-print0", "-ls", "-prune",
    ];
    if known.iter().any(|word| other.contains(&word.as_str())) {
        return None;
    }
    let at = known
        .iter()
        .position(|word| matches!(word.as_str(), "-name" | "-iname"))?;
    let name = words.get(at + 1)?.known()?;
    if name.contains(['/', '[', '\\']) {
        return None;
    }
    let name = name.chars().map(|c| match c {
        '*' => Atom::Star,
        '?' => Atom::One,
        c => Atom::Char(c),
    });
    let name = Value(name.collect());
    let starts = words
        .iter()
        .take_while(|word| !word.beginning().starts_with(['-', '(', '!']));
    let starts: Vec<Value> = starts.cloned().collect();
    let starts = if starts.is_empty() {
        vec![Value::text(".")]
    } else {
        starts
    };
    let paths = starts.into_iter().map(|mut path| {
        path.0
            .extend([Atom::Char('/'), Atom::Below, Atom::Char('/')]);
        path.push(&name);
        path
    });
    Some(paths.collect())
}

/// What kind of text it is, where the text is not known.
fn shape(program: &str, words: &[Value], input: Option<&Value>) -> Atom {
    let first = words.first().and_then(Value::known).unwrap_or_default();
    let second = words.get(1).and_then(Value::known).unwrap_or_default();
    let has = |wanted: &str| {
        words
            .iter()
            .any(|word| word.known().as_deref() == Some(wanted))
    };
    let stays = |word: &Value| {
        let text = word.to_string();
        !text.starts_with(['/', '~', '\u{2026}']) && !text.contains("..")
    };
    let starts = || {
        words
            .iter()
            .take_while(|word| !word.beginning().starts_with(['-', '(', '!']))
    };
    match program {
        "ls" if words.iter().all(stays) => Atom::Below,
        "find" if starts().all(stays) && !has("-printf") => Atom::Below,
        "fd" | "fdfind" if words.iter().all(stays) => Atom::Below,
        "git" if first == "ls-files" || has("--name-only") => Atom::Below,
        "git" if first == "branch" && second == "--show-current" => Atom::Name,
        "git" if first == "rev-parse" && (has("HEAD") || has("--short")) => Atom::Name,
        "grep" | "rg"
            if has("-l")
                || has("-rl")
                || has("-lr")
                || has("--files-with-matches")
                || has("--files") =>
        {
            if words.iter().skip(1).all(stays) {
                Atom::Below
            } else {
                Atom::Any
            }
        }
        "date" | "nproc" | "uname" | "whoami" | "hostname" | "id" | "wc" | "basename" | "arch"
        | "seq" => Atom::Name,
        "head" | "tail" | "sort" | "uniq" | "grep" | "tac" | "shuf" => {
            let files = words.iter().any(|word| {
                let text = word.to_string();
                program != "grep"
                    && !text.starts_with('-')
                    && !text.bytes().all(|b| b.is_ascii_digit())
            });
            match input.map(|value| value.0.as_slice()) {
                Some(
                    [atom @ (Atom::Name | Atom::Below), Atom::Char('\n')]
                    | [atom @ (Atom::Name | Atom::Below)],
                ) if !files => *atom,
                _ => Atom::Any,
            }
        }
        _ => Atom::Any,
    }
}

fn unescaped(text: &str) -> Option<String> {
    let mut made = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            made.push(c);
            continue;
        }
        match chars.next()? {
            'n' => made.push('\n'),
            't' => made.push('\t'),
            '\\' => made.push('\\'),
            '"' => made.push('"'),
            kind @ ('x' | '0'..='7') => {
                let (radix, most) = if kind == 'x' { (16, 2) } else { (8, 3) };
                let mut digits = String::new();
                if kind != 'x' && kind != '0' {
                    digits.push(kind);
                }
                while let Some(digit) = chars
                    .peek()
                    .filter(|c| c.is_digit(radix) && digits.len() < most)
                {
                    digits.push(*digit);
                    chars.next();
                }
                made.push(char::from_u32(u32::from_str_radix(&digits, radix).ok()?)?);
            }
            _ => return None,
        }
    }
    Some(made)
}

fn decoded(text: &str) -> Option<Value> {
    let mut bytes = Vec::new();
    let mut bits = 0_u32;
    let mut held = 0_u32;
    for c in text.chars().filter(|c| !c.is_whitespace() && *c != '=') {
        let value = match c {
            'A'..='Z' => c as u32 - 'A' as u32,
            'a'..='z' => c as u32 - 'a' as u32 + 26,
            '0'..='9' => c as u32 - '0' as u32 + 52,
            '+' => 62,
            '/' => 63,
            _ => return None,
        };
        held = (held << 6 | value) & 0xff_ffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(held >> bits & 0xff).ok()?);
        }
    }
    String::from_utf8(bytes).ok().map(|text| Value::text(&text))
}

fn from_hex(text: &str) -> Option<Value> {
    let digits: Vec<u32> = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16))
        .collect::<Option<_>>()?;
    let bytes = digits.chunks(2).map(|pair| match pair {
        [high, low] => u8::try_from(high * 16 + low).ok(),
        _ => None,
    });
    let text = String::from_utf8(bytes.collect::<Option<_>>()?).ok()?;
    Some(Value::text(&text))
}

fn translated(words: &[String], text: &str) -> Option<Value> {
    let set = |text: &str| -> Option<Vec<char>> {
        let text = match text {
            "[:upper:]" => "A-Z",
            "[:lower:]" => "a-z",
            "[:digit:]" => "0-9",
            "[:blank:]" => " ",
            text => text,
        };
        let chars: Vec<char> = text.chars().collect();
        let mut set = Vec::new();
        let mut at = 0;
        while at < chars.len() {
            if at + 2 < chars.len() && chars[at + 1] == '-' {
                set.extend(chars[at]..=chars[at + 2]);
                at += 3;
            } else {
                if "[\\".contains(chars[at]) {
                    return None;
                }
                set.push(chars[at]);
                at += 1;
            }
        }
        Some(set)
    };
    match words {
        [option, gone] if option == "-d" => {
            let gone = set(gone)?;
            Some(Value::text(
                &text
                    .chars()
                    .filter(|c| !gone.contains(c))
                    .collect::<String>(),
            ))
        }
        [from, to] if !from.starts_with('-') => {
            let (from, to) = (set(from)?, set(to)?);
            let last = to.last().copied()?;
            let other = |c: char| match from.iter().position(|known| *known == c) {
                Some(index) => to.get(index).copied().unwrap_or(last),
                None => c,
            };
            Some(Value::text(&text.chars().map(other).collect::<String>()))
        }
        _ => None,
    }
}
