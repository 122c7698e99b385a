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
        "cat" if words.is_empty() => input.cloned(),
        "which" | "type" | "command"
            if program != "command"
                || known.as_deref()?.first().is_some_and(|word| word == "-v") =>
        {
            let known = known?;
            let name = known.last().filter(|name| !name.starts_with('-'))?;
            line(format!("/usr/bin/{name}"))
        }
        "pwd" => folder.map(|folder| Value::text(&format!("{folder}\n"))),
        "base64" | "base32" if program == "base64" => {
            let known = known?;
            let decodes = matches!(
                known.first()?.as_str(),
                "-d" | "--decode" | "-D" | "-di" | "-id"
            );
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
        "git" if known.as_deref()? == ["rev-parse", "--show-toplevel"] => {
            folder.map(|folder| Value::text(&format!("{folder}\n")))
        }
        _ => None,
    }
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
        "ls" if words.iter().all(|word| word.beginning().starts_with('-')) => Atom::Name,
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
