use super::*;

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
        set_mode(&folder.path().join(name), 0o600);
    }
    folder
}

fn set_mode(path: &Path, mode: u32) {
    let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
    fs::set_permissions(path, mode).unwrap();
}

fn problem(files: &[(&str, &str)]) -> String {
    let folder = folder(files);
    let shown = ServerList::load(folder.path()).unwrap_err().to_string();
    shown.replace(&format!("{}/", folder.path().display()), "")
}

#[test]
fn both_files_make_one_list() {
    let folder = folder(&[
        (
            "mcp.toml",
            "[servers.files]\ncommand = \"npx\"\nargs = [\"-y\", \"x\"]\nenv = { A = \"1\" }\n\
             pass_env = [\"TOKEN\"]\nidle_secs = 0\ntimeout_secs = 5\nenabled = false\n",
        ),
        (
            "mcp.json",
            "// mine\n{\"mcpServers\": {\"web\": {\"type\": \"http\", \"url\": \"https://a.b/mcp\",}}}",
        ),
    ]);
    let list = ServerList::load(folder.path()).unwrap();
    let files = &list.servers[&ServerName::new("files").unwrap()];
    assert_eq!(
        files.spec,
        ServerSpec {
            transport: Transport::Stdio {
                command: "npx".to_owned(),
                args: vec!["-y".to_owned(), "x".to_owned()],
                env: BTreeMap::from([("A".to_owned(), "1".to_owned())]),
                pass_env: vec!["TOKEN".to_owned()],
                cwd: None,
                wall: ServerWall::default(),
            },
            enabled: false,
            protocol: ProtocolChoice::Auto,
            timeout: Duration::from_secs(5),
            idle: None,
        }
    );
    let web = &list.servers[&ServerName::new("web").unwrap()];
    assert!(web.spec.enabled);
    assert_eq!(web.spec.timeout, DEFAULT_TIMEOUT);
    assert_eq!(web.file.file_name().unwrap(), "mcp.json");
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(
        ServerList::load(empty.path()).unwrap(),
        ServerList::default()
    );
}

#[test]
fn what_is_wrong_is_said() {
    let server = |entry: &str| problem(&[("mcp.toml", &format!("[servers.x]\n{entry}"))]);
    for (entry, said) in [
        ("", "it has neither a `command` nor a `url`"),
        ("command = \"a\"\nurl = \"https://b\"", "which is it?"),
        ("command = \"a\"\ncomand = \"b\"", "unknown field `comand`"),
        ("url = \"http://example.com/mcp\"", "use https://"),
        ("url = \"file:///etc/passwd\"", "is not a URL"),
        (
            "url = \"https://a.b/sse\"\ntype = \"sse\"",
            "the transport of 2024",
        ),
        ("command = \"a\"\ntimeout_secs = 0", "must be 1 to 3600"),
        (
            "command = \"a\"\nenv = { \"A=B\" = \"\" }",
            "cannot be a variable",
        ),
    ] {
        let problem = server(entry);
        assert!(problem.contains(said), "{entry}: {problem}");
    }
    let twice = problem(&[
        ("mcp.toml", "[servers.a]\ncommand = \"x\""),
        (
            "mcp.json",
            "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}",
        ),
    ]);
    assert_eq!(
        twice,
        "the server `a` is in both mcp.toml and mcp.json: remove it from one of them"
    );
    assert!(
        problem(&[("mcp.toml", "[servers.\"a b\"]\ncommand = \"x\"")]).contains("only letters")
    );
}

#[test]
fn a_list_others_may_write_is_not_obeyed() {
    let folder = folder(&[("mcp.toml", "[servers.a]\ncommand = \"x\"")]);
    set_mode(&folder.path().join("mcp.toml"), 0o666);
    let error = ServerList::load(folder.path()).unwrap_err();
    assert!(matches!(error, ConfigError::Writable { .. }), "{error}");
}

#[test]
fn a_name_can_always_be_split_from_its_tool() {
    for good in ["a", "server-everything", "my.server", "_x", "A1"] {
        assert!(ServerName::new(good).is_ok(), "{good}");
    }
    for bad in ["", "a__b", "a_", "ä", "a/b", &"x".repeat(41)] {
        assert!(ServerName::new(bad).is_err(), "{bad}");
    }
}

#[test]
fn secrets_come_from_the_environment_by_name() {
    let lookup = |name: &str| (name == "TOKEN").then(|| "s3cret".to_owned());
    assert_eq!(
        expand("Bearer ${TOKEN}!", lookup),
        Ok("Bearer s3cret!".to_owned())
    );
    assert_eq!(
        expand("${env:TOKEN}${TOKEN}", lookup),
        Ok("s3crets3cret".to_owned())
    );
    assert_eq!(expand("a $b ${", lookup), Ok("a $b ${".to_owned()));
    assert_eq!(expand("${OTHER}", lookup), Err("OTHER".to_owned()));
}
