//! Agents that break their protocol in every way we know, driven by the real daemon:
//! people get a clear word, memory stays bounded, and the daemon serves on.

use serde_json::Value;

use crate::harness::wait_for;
use crate::scripted_agent::Agents;

#[test]
fn what_agents_must_not_say_is_answered_and_noted_and_the_turn_goes_on() {
    let scripts = [
        (
            "asks-much",
            r#"greet; open; hear
               ask '"a"' fs/read_text_file '{"sessionId":"s1","path":"/etc/passwd"}'; hear
               ask '"b"' invented/method '{}'; hear
               say '"method":"invented/notice","params":{}'
               words "I go on."; end 3"#,
        ),
        (
            "out-of-order",
            r#"answer 7 '{}'; answer 3 '{"stopReason":"end_turn"}'
               words "Too early."
               greet; open; answer 2 '{"sessionId":"s2"}'; hear
               answer 99 '{}'; words "I go on."; end 3; end 3
               hear; words "And on."; end 4"#,
        ),
        (
            "no-json",
            r#"printf 'Welcome!\n\n[1,2]\n{"id":{},"method":1}\n\377\376\n'
               greet; open; hear
               printf '{"jsonrpc":"2.0","jsonrpc":"3.0","id":3,"result":{}}\n'
               i=0; deep=; while [ $i -lt 200 ]; do deep="[$deep"; i=$((i+1)); done; echo "$deep"
               words "I go on."; end 3"#,
        ),
    ];
    let agents = Agents::new("", &scripts);
    for (agent, _) in &scripts {
        agents.begin(agent);
        agents.wait_for_words(agent, "I go on.");
        agents.wait(agent, "idle");
    }
    let refused: Vec<_> = agents
        .heard("asks-much")
        .iter()
        .filter(|line| line["error"]["code"] == -32601)
        .map(|line| line["id"].clone())
        .collect();
    assert_eq!(refused, ["a", "b"]);
    agents.message("out-of-order", "again");
    agents.wait_for_words("out-of-order", "And on.");
    let session = agents.home.json(&["execution", "show", "out-of-order"]);
    assert_eq!(session["conversation"], "s1", "the second was not believed");
    let complaints = agents.complaints("out-of-order");
    assert!(complaints.contains("answer"), "{complaints}");
    let complaints = agents.complaints("no-json");
    for said in ["JSON", "twice", "nested"] {
        assert!(complaints.contains(said), "{said}: {complaints}");
    }
}

#[test]
fn an_agent_of_another_version_is_refused_with_a_sentence() {
    let script = r#"hear; answer 1 '{"protocolVersion":99}'"#;
    let agents = Agents::new("", &[("tomorrow", script)]);
    agents.begin("tomorrow");
    let read = agents.wait("tomorrow", "error");
    let why = "the agent speaks version 99, and we 1: update one of the two";
    assert!(read.contains(why), "{read}");
    let mut shown = Value::Null;
    wait_for("its prompt to be given up", || {
        shown = agents.home.json(&["execution", "show", "tomorrow"]);
        shown["messages"][0]["reason"].is_string()
    });
    let reason = shown["messages"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("version 99"), "{reason}");
    assert_eq!(agents.heard("tomorrow").len(), 1, "it was told no more");
}

#[test]
fn a_second_question_with_the_same_id_is_nobodys() {
    let script = r#"greet; open; hear
        may 5 ls; may 5 'rm -rf everything'; hear
        words "It was allowed."; end 3"#;
    let agents = Agents::new("", &[("twice", script)]);
    agents.begin("twice");
    let asked = agents.wait("twice", "confirming");
    assert!(asked.contains("ls"), "{asked}");
    agents
        .home
        .json(&["slot", "answer", "twice", "Yes", "--wait", "30"]);
    agents.wait_for_words("twice", "It was allowed.");
    agents.wait("twice", "idle");
    let answers: Vec<_> = agents
        .heard("twice")
        .into_iter()
        .filter(|line| line["id"] == 5)
        .collect();
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(answers[0]["result"]["outcome"]["optionId"], "y");
    let complaints = agents.complaints("twice");
    assert!(complaints.contains("sent twice"), "{complaints}");
}

#[test]
fn a_permission_for_one_command_is_none_for_another() {
    let scripts = [
        (
            "asks-for-another",
            r#"greet; open; hear; call tool_call pending ls; may 5 'rm -rf everything'; hear; end 3"#,
        ),
        (
            "runs-another",
            r#"greet; open; hear; call tool_call pending ls; may 5 ls; hear
               call tool_call_update completed 'rm -rf everything'; end 3"#,
        ),
    ];
    let agents = Agents::new("", &scripts);
    // What a rule allows is what is announced and asked for alike.
    for command in ["ls", "rm*"] {
        let add = ["permission", "add", "allow", "--tool", "Bash"];
        agents
            .home
            .json(&[&add[..], &["--argument", command]].concat());
    }
    agents.begin("asks-for-another");
    let asked = agents.wait("asks-for-another", "confirming");
    assert!(asked.contains("rm -rf everything"), "{asked}");
    agents.begin("runs-another");
    agents.wait("runs-another", "idle");
    let mut found = Vec::new();
    wait_for("both to be noticed", || {
        found = agents.incidents("slot_input_mismatch");
        found.len() == 2
    });
    let said: String = found.iter().map(ToString::to_string).collect();
    assert!(said.contains("announced was"), "{said}");
    assert!(said.contains("allowed was"), "{said}");
    let read = agents.read("asks-for-another");
    assert_eq!(read["reading"]["state"], "confirming", "no rule decided");
}

#[test]
fn what_an_agents_own_record_contradicts_is_told_with_both_sides() {
    let record = |words: &str| {
        format!(
            r#"note() {{ folder="$HOME/.qwen/projects/$(pwd -P | sed 's/[^A-Za-z0-9]/-/g')/chats"
               mkdir -p "$folder"; printf '%s\n' "$1" >> "$folder/s1.jsonl"; }}
            ran() {{ note "{{\"type\":\"assistant\",\"message\":{{\"parts\":[{{\"functionCall\":{{\"id\":\"$1\",\"name\":\"run_shell_command\",\"args\":{{\"command\":\"$2\"}}}}}}]}}}}"; }}
            greet; open; hear; {words}"#
        )
    };
    // It asks for one command and is allowed, and runs another.
    let ran_another = record(
        r#"call tool_call pending ls; may 5 ls; hear; ran c1 'rm -rf everything'
           call tool_call_update completed ls; words "It was listed."; end 3"#,
    );
    // It says that it is done, and works on.
    let works_on = record(
        r#"words "I am done."; end 3
           i=0; while :; do i=$((i+1)); ran "w$i" "make part$i"; sleep 0.5; done"#,
    );
    // It is as it says.
    let honest = record(
        r#"call tool_call pending ls; may 5 ls; hear; ran c1 ls
           call tool_call_update completed ls; words "It was listed."; end 3"#,
    );
    let agents = Agents::new(
        "",
        &[
            ("ran-another", &ran_another),
            ("works-on", &works_on),
            ("honest", &honest),
        ],
    );
    for agent in ["ran-another", "honest", "works-on"] {
        agents.begin_as_qwen(agent);
    }
    for agent in ["ran-another", "honest"] {
        agents.wait(agent, "confirming");
        let answer = ["slot", "answer", agent, "Yes", "--wait", "30"];
        agents.home.json(&answer);
        agents.wait_for_words(agent, "It was listed.");
    }
    let mut found = Vec::new();
    wait_for("the other command to be noticed", || {
        found = agents.incidents("slot_input_mismatch");
        !found.is_empty()
    });
    assert_eq!(found.len(), 1, "{found:?}");
    let summary = found[0]["summary"].as_str().unwrap();
    let both = r#"ran-another: allowed was "ls", its own record says "rm -rf everything""#;
    assert!(summary.contains(both), "{summary}");
    wait_for("the work behind the end to be noticed", || {
        found = agents.incidents("slot_witness_disagrees");
        !found.is_empty()
    });
    assert_eq!(found.len(), 1, "{found:?}");
    let summary = found[0]["summary"].as_str().unwrap();
    assert!(
        summary.starts_with("works-on: its protocol says that the turn ended"),
        "{summary}"
    );
    assert!(
        summary.contains("its own record that `run_shell_command` began"),
        "{summary}"
    );
    agents.home.json(&["slot", "kill", "works-on"]);
    wait_for("it to be over", || {
        agents.incidents("slot_witness_disagrees")[0]["state"] == "resolved"
    });
}

/// The hook is asked by the CLI itself, of which the protocol is another program's word.
#[test]
fn a_hook_that_is_asked_about_another_command_is_told_with_both_sides() {
    let asking = |hooked: &str| {
        format!(
            r#"judge() {{ settings=$(grep -o '"settings":"[^"]*"' "$0.heard" | cut -d'"' -f4)
               printf '{{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"%s","tool_input":{{"command":"%s"}},"cwd":"%s"}}' "$1" "$2" "$PWD" \
               | "$MISSION" hook "${{settings%/*}}/access.json" --judge --unreported > "$0.judged" 2>&1; }}
            greet; hear
            answer 2 '{{"sessionId":"s1","modes":{{"currentModeId":"plan","availableModes":[{{"id":"default","name":"Ask"}},{{"id":"plan","name":"Plan"}}]}}}}'
            hear; answer 3 '{{}}'; hear
            call tool_call pending ls; judge c1 '{hooked}'; may 5 ls; hear
            call tool_call_update completed ls; words "It was listed."; end 4"#
        )
    };
    let (honest, another) = (asking("ls"), asking("rm -rf everything"));
    let agents = Agents::new("", &[("honest", &honest), ("hooked-another", &another)]);
    for agent in ["honest", "hooked-another"] {
        agents.begin_in_place_of("claude", "claude-agent-acp", agent);
        agents.wait(agent, "confirming");
        let answer = ["slot", "answer", agent, "Yes", "--wait", "30"];
        agents.home.json(&answer);
        agents.wait_for_words(agent, "It was listed.");
    }
    let mut found = Vec::new();
    wait_for("the other command to be noticed", || {
        found = agents.incidents("slot_input_mismatch");
        !found.is_empty()
    });
    assert_eq!(found.len(), 1, "{found:?}");
    let summary = found[0]["summary"].as_str().unwrap();
    let before = r#"was "ls", its hook asked about "rm -rf everything""#;
    assert!(summary.contains(before), "{summary}");
    assert!(summary.starts_with("hooked-another"), "{summary}");
}

#[test]
fn silence_is_waited_for_so_long_and_then_said() {
    let scripts = [
        ("mute", "hear"),
        ("half-mute", "greet; hear"),
        (
            "late",
            r#"hear; while [ ! -e "$0.now" ]; do sleep 0.05; done
               answer 1 '{"protocolVersion":1,"agentCapabilities":{}}'; open
               hear; words "Better late."; end 3"#,
        ),
    ];
    let agents = Agents::new("[engines]\nanswer_secs = 1\n", &scripts);
    for (agent, method) in [
        ("mute", "initialize"),
        ("half-mute", "session/new"),
        ("late", "initialize"),
    ] {
        agents.begin(agent);
        let read = agents.wait(agent, "error");
        let why = format!("the agent has not answered `{method}` for 1 s");
        assert!(read.contains(&why), "{read}");
    }
    std::fs::write(agents.file("late.now"), "").unwrap();
    agents.wait("late", "idle");
    agents.message("late", "and now?");
    agents.wait_for_words("late", "Better late.");
}

/// Of what an agent writes, so many megabytes may be in memory at once.
const MOST: u64 = 64;

#[test]
fn a_hundred_megabytes_on_one_line_are_counted_and_not_kept() {
    let script = r#"greet; open; hear
        head -c 100000000 /dev/zero | tr '\0' x; echo
        printf '{"jsonrpc":"2.0","method":"session/update","params":{"text":"'
        head -c 100000000 /dev/zero | tr '\0' y; echo '"}}'
        words "That was much."; end 3
        hear; words "And on."; end 4"#;
    let agents = Agents::new("", &[("vast", script)]);
    let before = Agents::peak(agents.home.pid());
    agents.begin("vast");
    agents.wait_for_words("vast", "That was much.");
    agents.wait("vast", "idle");
    wait_for("it to be on record", || {
        agents.complaints("vast").matches("longer than").count() == 2
    });
    let grown = Agents::peak(agents.home.pid()) - before;
    assert!(grown < MOST, "the daemon grew by {grown} MB");
    let host = Agents::peak(agents.host());
    assert!(host < MOST, "the host had {host} MB");

    // The next daemon reads all of it back.
    agents.home.kill();
    agents.home.start();
    agents.wait("vast", "idle");
    agents.message("vast", "again");
    agents.wait_for_words("vast", "And on.");
    let again = Agents::peak(agents.home.pid()) - before;
    assert!(again < MOST, "the next daemon grew by {again} MB");
}
