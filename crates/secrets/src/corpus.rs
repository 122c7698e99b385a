//! Invented text to measure with: lines with a secret whose place is known, lines that look
//! as if they had one, and source, logs and terminal output by the megabyte. The same seed
//! makes the same text.

use std::ops::Range;

use crate::form::{Class, Form, Piece, Run};
use crate::kinds::{Kind, kinds};

/// A piece of text, and where in it a secret stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    pub text: String,
    pub secret: Option<Range<usize>>,
    /// Which kind was meant.
    pub kind: &'static str,
}

/// A generator of numbers that look random (SplitMix64).
#[derive(Debug, Clone)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    fn pick<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }

    fn text(&mut self, letters: &[u8], length: usize) -> String {
        (0..length)
            .map(|_| char::from(letters[self.below(letters.len())]))
            .collect()
    }
}

const ALNUM: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const HEX: &[u8] = b"0123456789abcdef";
const WORDS: [&str; 40] = [
    "service", "account", "river", "stone", "config", "worker", "client", "server", "request",
    "buffer", "stream", "render", "window", "index", "update", "remote", "branch", "commit",
    "parser", "lexer", "module", "handler", "session", "journal", "board", "harbor", "silver",
    "meadow", "copper", "lantern", "orchard", "pebble", "thunder", "willow", "falcon", "ember",
    "cedar", "marble", "velvet", "anchor",
];

/// Samples of every kind and of what looks alike; four of the latter to one of the former.
#[must_use]
pub fn samples(seed: u64, secrets: usize) -> Vec<Sample> {
    let mut random = Random(seed);
    let formed: Vec<&Kind> = kinds()
        .iter()
        .filter(|kind| !kind.forms.is_empty() || !kind.near.is_empty())
        .collect();
    let mut samples = Vec::with_capacity(secrets * 5);
    for number in 0..secrets {
        samples.push(if number % 3 == 2 {
            common(&mut random)
        } else {
            let kind = formed[(number / 3 * 2 + number % 3) % formed.len()];
            of_kind(kind, &mut random)
        });
        for _ in 0..4 {
            let text = harmless(&mut random);
            samples.push(Sample {
                text,
                secret: None,
                kind: "",
            });
        }
    }
    samples
}

fn placed(before: &str, secret: &str, after: &str, kind: &'static str) -> Sample {
    Sample {
        text: [before, secret, after].concat(),
        secret: Some(before.len()..before.len() + secret.len()),
        kind,
    }
}

fn of_kind(kind: &'static Kind, random: &mut Random) -> Sample {
    let number = random.below(kind.forms.len() + kind.near.len());
    if let Some(form) = kind.forms.get(number) {
        let secret = instance(form, random);
        let (before, after) = random.pick(&[
            &("export API_VALUE=", "\n"),
            &("SERVICE_SETTING=", "\n"),
            &("setting: ", "\n"),
            &("  \"setting\": \"", "\",\n"),
            &("const setting = '", "';\n"),
            &("setting = \"", "\"\n"),
            &("curl -H \"X-Auth: ", "\" https://api.example.net/v1\n"),
            &(
                "2026-03-04T05:06:07Z INFO client: using ",
                " for requests\n",
            ),
            &("the new one is ", ", use it\n"),
            &("{\"text\":\"it is ", "\\nnow\"}\n"),
            &("\x1b[2m$\x1b[0m login ", "\r\n"),
            &("", ""),
        ]);
        let mut sample = placed(before, &secret, after, kind.id);
        if let Some(secret) = &mut sample.secret
            && form.literal.ends_with(b"=")
        {
            secret.start += form.literal.len();
        }
        return sample;
    }
    let (name, pieces) = &kind.near[number - kind.forms.len()];
    let secret = fill(pieces, random);
    if name.starts_with('"') {
        return placed(&format!("{name}: \""), &secret, "\"\n", kind.id);
    }
    let told = ["key", "token", "secret", "auth", "data"];
    let name = if told.iter().any(|word| name.contains(word)) {
        (*name).to_owned()
    } else {
        format!("{name}_token")
    };
    match random.below(4) {
        0 => placed(
            &format!("export {}=", name.to_uppercase()),
            &secret,
            "\n",
            kind.id,
        ),
        1 => placed(&format!("{name}: "), &secret, "\n", kind.id),
        2 => placed(&format!("{name} = \""), &secret, "\"\n", kind.id),
        _ => placed(&format!("  \"{name}\": \""), &secret, "\",\n", kind.id),
    }
}

fn instance(form: &Form, random: &mut Random) -> String {
    let mut text = form
        .leading
        .as_ref()
        .map_or_else(String::new, |run| filled(run, random));
    text.push_str(&String::from_utf8_lossy(&form.literal));
    text.push_str(&fill(&form.rest, random));
    text
}

fn fill(pieces: &[Piece], random: &mut Random) -> String {
    pieces
        .iter()
        .map(|piece| match piece {
            Piece::Literal(literal) => String::from_utf8_lossy(literal).into_owned(),
            Piece::Run(run) => filled(run, random),
        })
        .collect()
}

fn filled(run: &Run, random: &mut Random) -> String {
    let length = match run.most {
        Some(most) => run.least + random.below(most - run.least + 1),
        None => run.least + run.least / 3 + random.below(4),
    };
    let letters: &[u8] = match run.class {
        Class::Digits => b"0123456789",
        Class::Hex => HEX,
        Class::Capitals => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
        Class::Small => b"abcdefghijklmnopqrstuvwxyz0123456789",
        _ => ALNUM,
    };
    random.text(letters, length)
}

/// A password as people or programs make them.
fn password(random: &mut Random) -> String {
    let word = random.pick(&WORDS);
    match random.below(4) {
        0 => {
            let letters = [ALNUM, b"!@#%^&*-_+"].concat();
            let length = 10 + random.below(12);
            format!(
                "{}7{}",
                random.text(ALNUM, 2),
                random.text(&letters, length).trim_end_matches(['&', '-'])
            )
        }
        1 => format!("{}{}!", capitalised(word), random.below(9000) + 100),
        2 => format!("{}_{}#{}", word, random.pick(&WORDS), random.below(90) + 10),
        _ => random.text(ALNUM, 12) + "9",
    }
}

fn capitalised(word: &str) -> String {
    word[..1].to_uppercase() + &word[1..]
}

/// What has no form of its own.
fn common(random: &mut Random) -> Sample {
    let word = random.pick(&WORDS);
    let upper = word.to_uppercase();
    let token = match random.below(3) {
        0 => random.text(HEX, 32),
        1 => random.text(ALNUM, 24),
        _ => random.text(ALNUM, 40) + "9",
    };
    let secret = password(random);
    match random.below(22) {
        0 => placed(&format!("{upper}_PASSWORD="), &secret, "\n", "password"),
        1 => placed("password: \"", &secret, "\"\n", "password"),
        2 => placed(
            &format!("  \"{word}_password\": \""),
            &secret,
            "\",\n",
            "password",
        ),
        3 => placed("password = '", &secret, "'\n", "password"),
        4 => placed(
            &format!("./{word} --password "),
            &secret,
            " --verbose\n",
            "password",
        ),
        5 => placed(
            &format!("machine {word}.example.net login me password "),
            &secret,
            "\n",
            "password",
        ),
        6 => {
            let secret = random.text(ALNUM, 14) + "1";
            placed(
                &format!("postgres://{word}:"),
                &secret,
                "@db.example.net:5432/app\n",
                "connection-string",
            )
        }
        7 => {
            let secret = random.text(ALNUM, 14) + "1";
            placed(
                &format!("https://{word}:"),
                &secret,
                "@git.example.net/a.git\n",
                "url-credentials",
            )
        }
        8 => {
            let secret = random.text(ALNUM, 14) + "1";
            placed(
                &format!("{word}.example.net:5432:app:{word}:"),
                &secret,
                "\n",
                "password",
            )
        }
        9 => placed(&format!("{upper}_SECRET="), &token, "\n", "secret"),
        10 => placed("client_secret: ", &token, "\n", "secret"),
        11 => placed(
            &format!("const {word}Token = \""),
            &token,
            "\";\n",
            "secret",
        ),
        12 => placed("api_key = \"", &token, "\"\n", "secret"),
        13 => placed("  \"accessToken\": \"", &token, "\",\n", "secret"),
        14 => placed(
            "Authorization: Bearer ",
            &token,
            "\r\n",
            "authorization-header",
        ),
        15 => placed("Cookie: theme=dark; sid=", &token, "\r\n", "cookie"),
        16 => {
            let secret = random.text(ALNUM, 11) + "1";
            placed(
                &format!("mysql -u {word} -p"),
                &secret,
                " app\n",
                "command-line-password",
            )
        }
        17 => {
            let secret = random.text(ALNUM, 11) + "1";
            placed(
                &format!("curl -u {word}:"),
                &secret,
                " https://example.net/\n",
                "command-line-password",
            )
        }
        18 => placed(
            &format!("GET /v1/{word}?access_token="),
            &token,
            "&page=2 HTTP/1.1\n",
            "secret",
        ),
        19 => placed("{\\\"token\\\": \\\"", &token, "\\\"}\n", "secret"),
        20 => placed(
            &format!("{upper}_KEY="),
            &(random.text(ALNUM, 30) + "42"),
            "\n",
            "secret",
        ),
        _ => {
            let lines: Vec<String> = (0..6).map(|_| random.text(ALNUM, 64)).collect();
            let body = format!("\nMIIE{}\n", lines.join("\n"));
            placed(
                "-----BEGIN PRIVATE KEY-----",
                &body,
                "-----END PRIVATE KEY-----\n",
                "private-key",
            )
        }
    }
}

/// A line that has no secret, half of them with words that announce one.
fn harmless(random: &mut Random) -> String {
    let (a, b, c) = (
        random.pick(&WORDS),
        random.pick(&WORDS),
        random.pick(&WORDS),
    );
    let n = random.below(90_000);
    let (up, cap) = (a.to_uppercase(), capitalised(b));
    let hex40 = random.text(HEX, 40);
    let hex64 = random.text(HEX, 64);
    match random.below(40) {
        0 => format!("    let {a} = self.{b}.{c}({n})?;\n"),
        1 => format!("commit {hex40}\n"),
        2 => format!(
            "    \"integrity\": \"sha512-{}==\",\n",
            random.text(ALNUM, 86)
        ),
        3 => format!("checksum = \"{hex64}\"\n"),
        4 => format!("2026-03-04T05:06:07.{n:06}Z  INFO {a}::{b}: {c} finished in {n} ms\n"),
        5 => format!("    pub fn {a}_token(&self) -> Option<&str> {{\n"),
        6 => format!("    token: self.{a}_token.clone(),\n"),
        7 => format!("password = \"${{{up}_PASSWORD}}\"\n"),
        8 => format!("{up}_PASSWORD=${up}_PASSWORD\n"),
        9 => format!("max_tokens: {n}\n"),
        10 => format!("The access token of the {a} expires after {n} seconds.\n"),
        11 => format!("    password: String,\n    {a}_token: Token<{cap}>,\n"),
        12 => format!("https://{a}.example.net/{b}/{c}?page={n}\n"),
        13 => {
            "<input type=\"password\" name=\"current-password\" autocomplete=\"off\">\n".to_owned()
        }
        14 => format!("if password == {a}_password {{ return Err({cap}Error::WrongPassword); }}\n"),
        15 => format!("\x1b[32m✓\x1b[0m {a} {b} ({n} ms)\r\n"),
        16 => format!("test {a}::{b}_{c} ... ok\n"),
        17 => format!("const {up}_TOKEN_FILE: &str = \"/etc/{b}/token\";\n"),
        18 => format!("    secret: ${{{{ secrets.{up}_TOKEN }}}}\n"),
        19 => format!(
            "uuid: {}-{}-4{}-8{}-{}\n",
            &hex40[..8],
            &hex40[8..12],
            &hex40[12..15],
            &hex40[15..18],
            &hex40[18..30]
        ),
        20 => format!("{a}.token = {b}.nextToken();\n"),
        21 => format!("\"token_type\": \"Bearer\", \"expires_in\": {n}\n"),
        22 => format!("data:image/png;base64,{}\n", random.text(ALNUM, 120)),
        23 => format!("index {}..{} 100644\n", &hex40[..10], &hex40[10..20]),
        24 => "Enter a password with at least 8 characters and one digit.\n".to_owned(),
        25 => format!("def set_password(self, password: str) -> {cap}:\n"),
        26 => format!("export const PASSWORD_MIN_LENGTH = {};\n", n % 60),
        27 => format!("Authorization: Bearer <{a}-token>\n"),
        28 => "api_key: YOUR_API_KEY\n".to_owned(),
        29 => format!("token = get_{a}_token({b}, timeout={n})\n"),
        30 => format!(
            "    assert_eq!(tokens[{}].kind, TokenKind::{cap});\n",
            n % 9
        ),
        31 => format!("   Compiling {a}-{b} v0.{}.{}\r\n", n % 40, n % 7),
        32 => format!("#define {up}_KEY_SIZE {n}\n"),
        33 => format!("\"{a}_key\": \"{b}_{c}\",\n"),
        34 => format!("sk-{a}-{b}-{c} is not installed\n"),
        35 => format!(
            "    const [password, setPassword] = useState(\"\");\n    {a}.password = {b}.password;\n"
        ),
        36 => format!(
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA{} {a}@{b}\n",
            random.text(ALNUM, 44)
        ),
        37 => format!("credentials: \"same-origin\", {a}: {n}\n"),
        38 => format!("The secret of the {a} is a good {b}; the password: ask {c}.\n"),
        _ => format!("{a} {b} {c} {n}\n"),
    }
}

/// A text of about so many bytes, of one of the three sorts that pass by.
#[must_use]
pub fn text(sort: Sort, bytes: usize) -> Vec<u8> {
    let mut random = Random(7);
    let mut out = Vec::with_capacity(bytes + 512);
    let mut row = 0;
    while out.len() < bytes {
        let (a, b, c) = (
            random.pick(&WORDS),
            random.pick(&WORDS),
            random.pick(&WORDS),
        );
        let n = random.below(100_000);
        if random.below(2_000) == 0 {
            out.extend_from_slice(common(&mut random).text.as_bytes());
        }
        row += 1;
        let line = match sort {
            Sort::Source => match row % 8 {
                0 => format!("\n/// Asks the {a} for its {b}, and whether the {c} has ended.\n"),
                1 => format!(
                    "pub fn {a}_{b}(&self, {c}: &str) -> Result<{}, Error> {{\n",
                    capitalised(b)
                ),
                2 => format!("    let {a} = self.{b}.{c}({n}).map_err(Error::from)?;\n"),
                3 => format!("    for ({a}, {b}) in self.{c}.iter().enumerate() {{\n"),
                4 => format!(
                    "        if {a}.len() > {n} && !{b}.is_empty() {{ {c}.push({a}.clone()); }}\n"
                ),
                5 => "    }\n".to_owned(),
                6 => format!(
                    "    Ok({} {{ {a}: {b}.into(), token: {c}.token() }})\n",
                    capitalised(b)
                ),
                _ => "}\n".to_owned(),
            },
            Sort::Logs => match row % 4 {
                0 => format!(
                    "2026-03-04T05:06:07.{n:06}Z  INFO {a}::{b}: {c} finished elapsed_ms={n} status=200\n"
                ),
                1 => format!(
                    "2026-03-04T05:06:08.{n:06}Z DEBUG {a}: request method=GET path=/v1/{b}/{c}/{n} bytes={n}\n"
                ),
                2 => format!(
                    "{{\"level\":\"warn\",\"target\":\"{a}\",\"message\":\"{b} is late\",\"elapsed\":{n},\"id\":\"{}\"}}\n",
                    random.text(HEX, 32)
                ),
                _ => format!(
                    "10.0.{}.{} - - [04/Mar/2026:05:06:07 +0000] \"GET /{a}/{b}?page={n} HTTP/1.1\" 200 {n} \"-\" \"Mozilla/5.0\"\n",
                    n % 250,
                    n % 199
                ),
            },
            Sort::Terminal => match row % 5 {
                0 => format!(
                    "\x1b[{};1H\x1b[2K\x1b[38;5;{}m{a} {b}\x1b[0m {c} {n}",
                    n % 50 + 1,
                    n % 255
                ),
                1 => format!(
                    "\x1b[1m\x1b[32m   Compiling\x1b[0m {a}-{b} v0.{}.{}\r\n",
                    n % 40,
                    n % 9
                ),
                2 => format!("│ \x1b[36m{a}\x1b[39m {b} \x1b[2m{c}\x1b[22m │\r\n"),
                3 => format!("test {a}::{b}_{c} ... \x1b[32mok\x1b[0m\r\n"),
                _ => format!("\x1b[3{}m+\x1b[0m    let {a} = {b}.{c}({n});\r\n", n % 8),
            },
        };
        out.extend_from_slice(line.as_bytes());
    }
    out.truncate(bytes);
    out
}

/// What sort of text passes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    Source,
    Logs,
    Terminal,
}
