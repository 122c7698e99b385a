use super::*;

fn room(files: &[(&str, &str)]) -> (tempfile::TempDir, ConfigRoots) {
    let folder = tempfile::tempdir().unwrap();
    let roots = ConfigRoots {
        home: folder.path().join("home"),
        config: folder.path().join("home/.config"),
        project: folder.path().join("project"),
    };
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let project = roots.project.display().to_string();
        fs::write(path, text.replace("PROJECT", &project)).unwrap();
    }
    (folder, roots)
}

/// Name, then the program with its arguments or the address, then the rest.
fn summary(client: Client, roots: &ConfigRoots) -> Vec<String> {
    let shown = |found: FoundServer| match found.entry {
        Ok(entry) => {
            let ServerEntry {
                command,
                args,
                env,
                pass_env,
                url,
                headers,
                enabled,
                ..
            } = entry;
            let what = command.map_or_else(
                || url.unwrap_or_default(),
                |command| [vec![command], args].concat().join(" "),
            );
            format!(
                "{}: {what} {env:?} {pass_env:?} {headers:?} {enabled:?}",
                found.name
            )
        }
        Err(why) => format!("{}: no: {why}", found.name),
    };
    find(client, roots)
        .unwrap()
        .into_iter()
        .map(shown)
        .collect()
}

#[test]
fn claude_code_has_servers_of_its_own_and_of_the_project() {
    let (_folder, roots) = room(&[
        (
            "home/.claude.json",
            r#"{"mcpServers": {"a": {"type": "stdio", "command": "npx", "args": ["-y", "x"], "env": {"K": "v"}}},
                "projects": {"PROJECT": {"mcpServers": {"b": {"type": "http", "url": "https://b.c/mcp"}}},
                             "/other": {"mcpServers": {"no": {"command": "no"}}}}}"#,
        ),
        (
            "project/.mcp.json",
            r#"{"mcpServers": {"c d": {"command": "c"}, "e": {"type": "sse", "url": "https://x.y"}}}"#,
        ),
    ]);
    assert_eq!(
        summary(Client::ClaudeCode, &roots),
        [
            r#"a: npx -y x {"K": "v"} [] {} None"#,
            "b: https://b.c/mcp {} [] {} None",
            "c-d: c {} [] {} None",
            "e: no: it uses the transport of 2024",
        ]
    );
}

#[test]
fn each_client_is_read_in_its_own_words() {
    let (_folder, roots) = room(&[
        (
            "home/.gemini/settings.json",
            r#"{"mcpServers": {"g": {"httpUrl": "https://g.h/mcp", "headers": {"X": "1"}}, "old": {"url": "https://g.h/sse"}}}"#,
        ),
        (
            "home/.codex/config.toml",
            "model = \"x\"\n[mcp_servers.c]\ncommand = \"c\"\nargs = [\"1\"]\nenv_vars = [\"T\"]\n[mcp_servers.r]\nurl = \"https://r.s/mcp\"\nbearer_token_env_var = \"TOK\"\nenabled = false\n",
        ),
        (
            "home/.config/opencode/opencode.jsonc",
            "{ // mine\n\"mcp\": {\"o\": {\"type\": \"local\", \"command\": [\"bun\", \"x\"], \"environment\": {\"E\": \"1\"}, \"enabled\": true},}}",
        ),
        (
            "project/.cursor/mcp.json",
            r#"{"mcpServers": {"u": {"command": "u"}}}"#,
        ),
        (
            "home/.config/Code/User/mcp.json",
            r#"{"inputs": [], "servers": {"v": {"command": "v"}, "s": {"command": "v", "env": {"K": "${input:key}"}}}}"#,
        ),
    ]);
    assert_eq!(
        summary(Client::Gemini, &roots),
        [
            r#"g: https://g.h/mcp {} [] {"X": "1"} None"#,
            "old: no: its `url` is for the transport of 2024"
        ]
    );
    assert_eq!(
        summary(Client::Codex, &roots),
        [
            r#"c: c 1 {} ["T"] {} None"#,
            r#"r: https://r.s/mcp {} [] {"Authorization": "Bearer ${TOK}"} Some(false)"#
        ]
    );
    assert_eq!(
        summary(Client::OpenCode, &roots),
        [r#"o: bun x {"E": "1"} [] {} Some(true)"#]
    );
    assert_eq!(summary(Client::Cursor, &roots), ["u: u {} [] {} None"]);
    let vscode = summary(Client::VsCode, &roots);
    assert_eq!(vscode[1], "v: v {} [] {} None");
    assert!(
        vscode[0].starts_with("s: no: it asks for a secret"),
        "{vscode:?}"
    );
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let (_folder, roots) = room(&[("home/.cursor/mcp.json", "{")]);
    let error = find(Client::Cursor, &roots).unwrap_err();
    assert!(
        error.contains(".cursor/mcp.json: Unterminated object on line 1"),
        "{error}"
    );
    let (_folder, nothing) = room(&[]);
    for client in Client::ALL {
        assert_eq!(find(client, &nothing), Ok(Vec::new()));
    }
}
