//! Which hosts a use of a tool would reach, as far as it says so: addresses in the words
//! of programs that speak with others, in code given to an interpreter, and in what a tool
//! that fetches pages is given.

use super::host::{Host, split_port};
use super::rest::RestPath;
use crate::permissions::{Argument, Request, Shown};
use crate::programs::{Fact, profile, without_options};
use crate::shell::value::{Atom, Value};
use crate::shell::{Run, parse, trace::trace};

/// A host that is named, and what is asked of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    pub host: Host,
    pub port: Option<u16>,
    pub method: Option<String>,
    pub path: Option<RestPath>,
}

/// Everything a request reaches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reach {
    /// What it surely speaks with.
    pub endpoints: Vec<Endpoint>,
    /// What is named where it may be no more than text: rules that deny look at it.
    pub mentioned: Vec<Endpoint>,
    /// What it speaks with and cannot be told.
    pub unknown: Option<String>,
    /// Whether it does nothing but fetch what is named.
    pub only_fetches: bool,
}

/// Endpoints that are looked at; more of them are unknown.
const MAX_ENDPOINTS: usize = 200;

/// Tools of agent CLIs that fetch a page.
const FETCH_TOOLS: [&str; 7] = [
    "webfetch",
    "web_fetch",
    "fetch",
    "fetch_url",
    "url_fetch",
    "read_url",
    "http_request",
];

impl Reach {
    #[must_use]
    pub fn of(request: &Request) -> Self {
        let mut reach = Self::default();
        match &request.argument {
            Some(Argument::Command(text)) => reach.command(text, request),
            Some(Argument::Text(text)) => reach.text(text, request),
            None => {}
        }
        reach.endpoints.sort_by_key(|one| format!("{one:?}"));
        reach.endpoints.dedup();
        reach.mentioned.dedup();
        if reach.endpoints.len() > MAX_ENDPOINTS || reach.mentioned.len() > MAX_ENDPOINTS {
            reach
                .unknown
                .get_or_insert_with(|| "more hosts than are looked at".to_owned());
            reach.endpoints.truncate(MAX_ENDPOINTS);
            reach.mentioned.truncate(MAX_ENDPOINTS);
        }
        reach
    }

    /// Whether it speaks with anybody, as far as is known.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.endpoints.is_empty() && self.mentioned.is_empty() && self.unknown.is_none()
    }

    fn text(&mut self, text: &str, request: &Request) {
        let tool = request.tool.as_deref().unwrap_or_default().to_lowercase();
        if request.server.is_some() || !FETCH_TOOLS.contains(&tool.as_str()) {
            self.mentioned.extend(urls(text));
            return;
        }
        self.endpoints = urls(text).collect();
        for one in &mut self.endpoints {
            one.method.get_or_insert_with(|| "GET".to_owned());
        }
        if self.endpoints.is_empty() {
            // `domain: example.com`
            let words = text.split_whitespace().filter(|word| word.contains('.'));
            self.endpoints = words.filter_map(bare_endpoint).collect();
        }
        if self.endpoints.is_empty() {
            self.unknown = Some("the page it fetches".to_owned());
        }
        self.only_fetches = request.shown != Shown::InPart;
    }

    fn command(&mut self, text: &str, request: &Request) {
        let mut readings = vec![text.to_owned()];
        let rows: Vec<&str> = text.lines().map(str::trim).collect();
        if rows.len() > 1 && request.shown != Shown::Exact {
            readings.push(rows.join(" "));
            readings.push(rows.concat());
        }
        for reading in readings {
            let Ok(script) = parse(&reading) else {
                self.mentioned.extend(urls(&reading));
                continue;
            };
            let traced = trace(&script, &request.base);
            for access in &traced.accesses {
                self.device(&access.path);
            }
            for run in &traced.runs {
                self.run(run);
            }
        }
    }

    /// `/dev/tcp/HOST/PORT`, which bash opens as a connection.
    fn device(&mut self, path: &Value) {
        let beginning = path.beginning();
        let rest = ["/dev/tcp/", "/dev/udp/"]
            .iter()
            .find_map(|folder| beginning.strip_prefix(folder));
        let Some(rest) = rest else { return };
        let mut parts = rest.split('/');
        let host = parts.next().map(Host::parse_any);
        match host {
            Some(Ok(host)) if path.is_known() => self.endpoints.push(Endpoint {
                host,
                port: parts.next().and_then(|port| port.parse().ok()),
                method: None,
                path: None,
            }),
            _ => self.unknown = Some(format!("`{path}`")),
        }
    }

    fn run(&mut self, run: &Run) {
        let name = run.argv[0].to_string();
        let name = name.rsplit('/').next().unwrap_or_default();
        let words = &run.argv[1..];
        for fact in &run.facts {
            if let Fact::Code(code) = fact {
                self.mentioned.extend(urls(&code.to_string()));
            }
        }
        if let Some(input) = &run.input
            && !is_about_text(name, words)
        {
            self.mentioned.extend(urls(&input.to_string()));
        }
        if is_about_text(name, words) {
            return;
        }
        let (method, wanted) = asked(name, words);
        let bare = is_given_hosts(name);
        let (_, plain) = without_options(profile(name), words);
        if name == "gh" && plain.first().and_then(Value::known).as_deref() == Some("api") {
            self.github(&plain, method);
            return;
        }
        let mut found = false;
        for word in words {
            let text = word.to_string();
            if !text.contains("://") {
                continue;
            }
            if host_is_unknown(word) {
                self.unknown = Some(format!("`{text}`"));
                continue;
            }
            for mut one in urls(&text) {
                found = true;
                one.method = wanted.then(|| method.clone()).flatten();
                if !word.is_known() {
                    one.path = None;
                }
                self.endpoints.push(one);
            }
        }
        // `user@host:path`
        if matches!(name, "git" | "ssh" | "scp" | "sftp" | "rsync") {
            for word in &plain {
                let copied = word.known().as_deref().and_then(copy_endpoint);
                found |= copied.is_some();
                self.endpoints.extend(copied);
            }
        }
        if !bare || found {
            return;
        }
        self.bare_hosts(name, &plain, method.as_ref(), wanted);
    }

    /// `curl example.com/x`, `ssh host`, `nc host 80`.
    fn bare_hosts(&mut self, name: &str, plain: &[Value], method: Option<&String>, wanted: bool) {
        let counted = if one_host(name) { 1 } else { plain.len() };
        for (index, word) in plain.iter().enumerate() {
            let Some(text) = word.known() else {
                if index < counted && matches!(word.0.first(), Some(Atom::Any) | None) {
                    self.unknown = Some(format!("`{word}`"));
                }
                continue;
            };
            let Some(mut one) = bare_endpoint(&text) else {
                continue;
            };
            if wanted {
                one.method = method.cloned();
                one.port.get_or_insert(80);
            } else {
                one.path = None;
                let next = plain.get(index + 1).and_then(Value::known);
                one.port = one.port.or_else(|| next?.parse().ok());
            }
            if index < counted {
                self.endpoints.push(one);
            } else {
                self.mentioned.push(one);
            }
        }
    }

    /// `gh api repos/o/r`: a request to GitHub's own host.
    fn github(&mut self, plain: &[Value], method: Option<String>) {
        let path = plain.get(1).and_then(Value::known);
        self.endpoints.push(Endpoint {
            host: Host::Name("api.github.com".to_owned()),
            port: Some(443),
            method,
            path: path.map(|path| RestPath::of(&format!("/{}", path.trim_start_matches('/')))),
        });
    }
}

/// Programs whose words are text, whatever stands in them.
fn is_about_text(name: &str, words: &[Value]) -> bool {
    let sub = words.first().and_then(Value::known).unwrap_or_default();
    match name {
        "git" => [
            "commit", "log", "grep", "tag", "notes", "show", "diff", "config",
        ]
        .contains(&sub.as_str()),
        _ => [
            "echo", "printf", "grep", "egrep", "fgrep", "rg", "ag", "ack", "sed", "awk", "cat",
            "tee", "head", "tail", "test", "[", "true", "false", ":", "jq", "tr", "cut", "sort",
            "wc", "export",
        ]
        .contains(&name),
    }
}

/// Programs whose words are hosts.
fn is_given_hosts(name: &str) -> bool {
    [
        "curl",
        "wget",
        "wget2",
        "http",
        "https",
        "xh",
        "httpie",
        "aria2c",
        "ping",
        "ping6",
        "dig",
        "host",
        "nslookup",
        "traceroute",
        "tracepath",
        "mtr",
        "whois",
        "nc",
        "ncat",
        "netcat",
        "telnet",
        "ssh",
        "sftp",
        "ftp",
        "lftp",
        "lynx",
        "w3m",
        "links",
        "elinks",
        "nmap",
    ]
    .contains(&name)
}

/// Of these only the first word is a host.
fn one_host(name: &str) -> bool {
    [
        "nc", "ncat", "netcat", "telnet", "ssh", "sftp", "ftp", "lftp",
    ]
    .contains(&name)
}

/// The method that a program asks with, if that can be told, and whether it asks by HTTP.
fn asked(name: &str, words: &[Value]) -> (Option<String>, bool) {
    let texts: Vec<String> = words.iter().map(ToString::to_string).collect();
    let after = |names: &[&str]| {
        let index = texts
            .iter()
            .position(|text| names.contains(&text.as_str()))?;
        texts.get(index + 1).cloned()
    };
    let begins = |names: &[&str]| {
        names
            .iter()
            .find_map(|name| texts.iter().find_map(|text| text.strip_prefix(name)))
            .map(str::to_owned)
    };
    let any = |names: &[&str]| {
        texts.iter().any(|text| {
            names.contains(&text.split('=').next().unwrap_or_default())
                // Behind the letter of an option: `-dname=value`.
                || names.iter().any(|name| name.len() == 2 && text.starts_with(name))
        })
    };
    let method = match name {
        "curl" => {
            let clustered = texts.iter().find_map(|text| {
                let letters = text
                    .strip_prefix('-')
                    .filter(|rest| !rest.starts_with('-'))?;
                letters.split_once('X').map(|(_, method)| method.to_owned())
            });
            let explicit = after(&["-X", "--request"])
                .or_else(|| begins(&["--request="]))
                .or(clustered.filter(|method| !method.is_empty()));
            let data = [
                "-d",
                "--data",
                "--data-raw",
                "--data-binary",
                "--data-urlencode",
                "--data-ascii",
                "--json",
                "-F",
                "--form",
                "--form-string",
            ];
            Some(explicit.unwrap_or_else(|| {
                let letters = if any(&["-T", "--upload-file"]) {
                    "PUT"
                } else if any(&["-I", "--head"]) {
                    "HEAD"
                } else if any(&data) && !any(&["-G", "--get"]) {
                    "POST"
                } else {
                    "GET"
                };
                letters.to_owned()
            }))
        }
        "wget" | "wget2" => Some(
            begins(&["--method="])
                .or_else(|| after(&["--method"]))
                .unwrap_or_else(|| {
                    let posts = any(&["--post-data", "--post-file"]);
                    if posts { "POST" } else { "GET" }.to_owned()
                }),
        ),
        "gh" => {
            let explicit = after(&["-X", "--method"]).or_else(|| begins(&["--method=", "-X"]));
            let fields = any(&["-f", "-F", "--field", "--raw-field", "--input"]);
            Some(explicit.unwrap_or_else(|| if fields { "POST" } else { "GET" }.to_owned()))
        }
        "http" | "https" | "xh" | "httpie" => texts
            .iter()
            .find(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_uppercase()))
            .cloned(),
        "lynx" | "w3m" | "links" | "elinks" | "aria2c" => Some("GET".to_owned()),
        _ => return (None, false),
    };
    let known = method.filter(|method| method.bytes().all(|byte| byte.is_ascii_alphabetic()));
    (known.map(|method| method.to_ascii_uppercase()), true)
}

/// Every address of a text that says how it is reached.
fn urls(text: &str) -> impl Iterator<Item = Endpoint> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let (before, after) = rest.split_once("://")?;
            rest = after;
            let scheme: String = {
                let letters = before.chars().rev().take_while(char::is_ascii_alphanumeric);
                letters.collect::<Vec<_>>().into_iter().rev().collect()
            };
            let stops = |c: char| c.is_whitespace() || "\"'`<>(){},;|\\^".contains(c);
            let url = after.split(stops).next().unwrap_or_default();
            if let Some(one) = url_endpoint(&scheme.to_ascii_lowercase(), url) {
                return Some(one);
            }
        }
    })
}

fn url_endpoint(scheme: &str, rest: &str) -> Option<Endpoint> {
    if scheme == "file" || scheme.is_empty() {
        return None;
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let authority = authority.rsplit('@').next().unwrap_or_default();
    let (host, port) = split_port(authority);
    let usual = match scheme {
        "http" | "ws" => Some(80),
        "https" | "wss" => Some(443),
        "ssh" | "sftp" | "scp" => Some(22),
        "git" => Some(9418),
        "ftp" => Some(21),
        _ => None,
    };
    Some(Endpoint {
        host: Host::parse_any(host).ok()?,
        port: port.and_then(|port| port.parse().ok()).or(usual),
        method: None,
        path: Some(RestPath::of(if path.starts_with('/') { path } else { "/" })),
    })
}

/// `host`, `host:port`, `user@host`, `host/path`.
fn bare_endpoint(text: &str) -> Option<Endpoint> {
    let text = text.trim_matches(|c: char| "\"'(),".contains(c));
    let end = text.find(['/', '?', '#']).unwrap_or(text.len());
    let (authority, path) = text.split_at(end);
    let authority = authority.rsplit('@').next().unwrap_or_default();
    let (host, port) = split_port(authority);
    let host = Host::parse_any(host).ok()?;
    let plausible = match &host {
        Host::Name(_) => true,
        Host::Address(_) => !host_is_number(authority),
    };
    (plausible && !authority.is_empty()).then(|| Endpoint {
        host,
        port: port.and_then(|port| port.parse().ok()),
        method: None,
        path: Some(RestPath::of(if path.is_empty() { "/" } else { path })),
    })
}

/// A small number is a count or a port rather than an address.
fn host_is_number(text: &str) -> bool {
    text.parse::<u32>().is_ok_and(|number| number <= 65_535)
}

/// `user@host:path` and `host:path`, as git and scp take them.
fn copy_endpoint(text: &str) -> Option<Endpoint> {
    if text.contains("://") || text.starts_with(['-', '/', '.']) {
        return None;
    }
    let (place, path) = text.split_once(':')?;
    let host = place.rsplit('@').next()?;
    if host.is_empty() || host.contains('/') || (!place.contains('@') && path.is_empty()) {
        return None;
    }
    Some(Endpoint {
        host: Host::parse_any(host).ok()?,
        port: Some(22),
        method: None,
        path: None,
    })
}

/// Whether what is not known of a word may be part of the host.
fn host_is_unknown(word: &Value) -> bool {
    let known = word.beginning();
    let Some((_, rest)) = known.split_once("://") else {
        return !word.is_known();
    };
    !word.is_known() && !rest.contains(['/', '?', '#'])
}
