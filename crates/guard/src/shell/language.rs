//! The small languages that text tools are told what to do in: whether a program in one
//! of them changes text and nothing else. What is not recognised is not harmless.

/// How to check what a tool is told, where it is told something in a language.
pub(crate) fn check_of(program: &str) -> Option<fn(&str) -> bool> {
    Some(match program {
        "sed" | "gsed" => is_harmless_sed,
        "awk" | "gawk" | "mawk" | "nawk" => is_harmless_awk,
        "jq" | "yq" => is_harmless_jq,
        _ => return None,
    })
}

/// Addresses with `p`, `d`, `q`, `=`, `s` and `y`, apart by `;` and line ends.
fn is_harmless_sed(script: &str) -> bool {
    let chars: Vec<char> = script.chars().collect();
    let mut at = 0;
    while at < chars.len() {
        match chars[at] {
            ' ' | '\t' | '\n' | ';' | '{' | '}' | ',' | '!' | '$' | '~' | '+' => at += 1,
            c if c.is_ascii_digit() => at += 1,
            '/' => match after_delimiter(&chars, at + 1, '/') {
                Some(next) => {
                    at = next;
                    if matches!(chars.get(at), Some('I' | 'M')) {
                        at += 1;
                    }
                }
                None => return false,
            },
            'p' | 'd' | 'q' | 'Q' | '=' | 'n' | 'N' | 'h' | 'H' | 'g' | 'G' | 'x' | 'P' | 'D'
            | 'l' | 'z' => {
                at += 1;
                while chars.get(at).is_some_and(char::is_ascii_digit) {
                    at += 1;
                }
                if !matches!(chars.get(at), None | Some(' ' | '\n' | ';' | '}')) {
                    return false;
                }
            }
            kind @ ('s' | 'y') => {
                let Some(delimiter) = chars.get(at + 1).copied() else {
                    return false;
                };
                if delimiter == '\\' || delimiter == '\n' || delimiter.is_alphanumeric() {
                    return false;
                }
                let Some(next) = after_delimiter(&chars, at + 2, delimiter)
                    .and_then(|middle| after_delimiter(&chars, middle, delimiter))
                else {
                    return false;
                };
                at = next;
                while kind == 's'
                    && chars
                        .get(at)
                        .is_some_and(|c| "gpiImM0123456789".contains(*c))
                {
                    at += 1;
                }
                if !matches!(chars.get(at), None | Some(' ' | '\n' | ';' | '}')) {
                    return false;
                }
            }
            _ => return false,
        }
    }
    true
}

fn after_delimiter(chars: &[char], mut at: usize, delimiter: char) -> Option<usize> {
    let mut in_set = false;
    while let Some(c) = chars.get(at) {
        match c {
            '\\' => at += 1,
            '\n' => return None,
            // In a set a delimiter may be itself or the end: shells of sed differ.
            '[' => in_set = true,
            ']' => in_set = false,
            c if *c == delimiter && in_set => return None,
            c if *c == delimiter => return Some(at + 1),
            _ => {}
        }
        at += 1;
    }
    None
}

/// No call that runs something, no pipe, no file, no variable of the session.
fn is_harmless_awk(script: &str) -> bool {
    let forbidden = [
        "system",
        "getline",
        "close",
        "fflush",
        "@",
        "ENVIRON",
        "PROCINFO",
        "ARGV",
        "|&",
        "extension",
    ];
    if forbidden.iter().any(|word| script.contains(word)) {
        return false;
    }
    // A line that goes on is one.
    let script = &script.replace("\\\n", " ");
    // A quote within a pattern would hide where texts begin and end.
    if script.contains('"') && script.contains('/') && script.contains(['|', '>']) {
        return false;
    }
    let Some(bare) = without_texts(script) else {
        return false;
    };
    // `|` alone pipes into a program; `>` behind print writes a file.
    let pipes = bare.replace("||", "  ").contains('|');
    let writes = bare.split([';', '\n', '}']).any(|statement| {
        let print = statement.find("print");
        print.is_some_and(|at| statement[at..].contains('>'))
    });
    !pipes && !writes
}

/// The code without texts and patterns; none where one is left open.
fn without_texts(script: &str) -> Option<String> {
    let mut bare = String::new();
    let mut chars = script.chars();
    while let Some(c) = chars.next() {
        if c == '#' {
            return None;
        }
        if c != '"' {
            bare.push(c);
            continue;
        }
        bare.push_str("\"\"");
        loop {
            match chars.next()? {
                '"' => break,
                '\\' => drop(chars.next()?),
                '\n' => return None,
                _ => {}
            }
        }
    }
    Some(bare)
}

/// No environment, no files, no modules, no input beyond its own.
fn is_harmless_jq(script: &str) -> bool {
    let forbidden = [
        "env",
        "input_filename",
        "import",
        "include",
        "load",
        "load_str",
        "strenv",
        "envsubst",
        "get_search_list",
        "debug",
        "stderr",
        "system",
        "exec",
        "eval",
        "halt_error",
        "$ENV",
        "$__prog_args",
    ];
    let mut before = ' ';
    let mut word = String::new();
    for c in script.chars().chain([' ']) {
        if c.is_alphanumeric() || c == '_' || (c == '$' && word.is_empty()) {
            word.push(c);
            continue;
        }
        // `.env` is a field of the input.
        if !word.is_empty() && before != '.' && forbidden.contains(&word.as_str()) {
            return false;
        }
        word.clear();
        before = c;
    }
    true
}
