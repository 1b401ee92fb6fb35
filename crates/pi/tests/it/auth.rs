//! `pi auth`: output for scripts, and no key is shown or lost.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::test_env::TestEnv;

/// Creates stored keys, an unset variable, commands, logins, and custom providers.
fn setup() -> TestEnv {
    let env = TestEnv::new();
    write(
        &env,
        "auth.json",
        &json!({
            "openai": { "type": "api_key", "key": "sk-plain", "note": 1 },
            "groq": { "type": "api_key", "key": "$NOPE" },
            "cerebras": { "type": "api_key", "key": "!echo from-command" },
            "xai": { "type": "api_key", "key": "!echo oops >&2; exit 3" },
            "anthropic": { "type": "oauth", "access": "token", "refresh": "r", "expires": 99_999_999_999_999_u64 },
            "openai-codex": { "type": "oauth", "access": "old", "refresh": "r", "expires": 1000 },
            "openrouter": { "type": "api_key" },
            "unknown": { "type": "api_key", "key": "sk-unknown" },
        })
        .to_string(),
    );
    write(
        &env,
        "models.json",
        &json!({ "providers": {
            "yours": { "baseUrl": "https://api.example/v1", "api": "openai-completions",
                "apiKey": "yk", "models": [{ "id": "y1" }] },
            "local": { "baseUrl": "http://127.0.0.1:9/v1", "api": "openai-completions",
                "models": [{ "id": "l1" }] },
        } })
        .to_string(),
    );
    env
}

fn write(env: &TestEnv, name: &str, text: &str) {
    std::fs::create_dir_all(env.agent()).unwrap();
    let path = env.agent().join(name);
    std::fs::write(&path, text).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
}

/// Runs `pi auth` with a key in the environment. Returns exit code, stdout and stderr.
fn auth(env: &TestEnv, line: &str) -> (Option<i32>, String, String) {
    let words: Vec<&str> = ["auth"].into_iter().chain(line.split(' ')).collect();
    let output = env.command(&words).env("GEMINI_API_KEY", "from-env").output().unwrap();
    let text = |bytes: Vec<u8>| env.stable(String::from_utf8(bytes).unwrap().trim_end());
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn check_prints_what_pi_prints() {
    // Recorded from pi 1.5.0, except for the last three and the reasons on stderr.
    let env = setup();
    let missing = "credentials_not_configured";
    for (line, code, word, provider, kind, reason) in [
        ("--provider openai", 0, "ready", "openai", "api_key", ""),
        ("--provider groq", 1, "not_ready", "groq", "", missing),
        ("--provider cerebras", 0, "ready", "cerebras", "api_key", ""),
        ("--provider xai", 1, "not_ready", "xai", "", missing),
        ("--provider anthropic", 0, "ready", "anthropic", "oauth", ""),
        ("--provider openai-codex", 2, "invalid", "openai-codex", "", "invalid_state"),
        ("--provider openrouter", 1, "not_ready", "openrouter", "", missing),
        ("--provider google", 0, "ready", "google", "api_key", ""),
        ("--provider fireworks", 1, "not_ready", "fireworks", "", missing),
        ("--provider unknown", 1, "not_ready", "unknown", "", "provider_not_found"),
        ("--model openai/gpt-5", 0, "ready", "openai", "api_key", ""),
        ("--model y1", 0, "ready", "yours", "api_key", ""),
        ("--model zzzz", 2, "invalid", "zzzz", "", "invalid_state"),
        ("--model zzzz --provider openai", 0, "ready", "openai", "api_key", ""),
        ("--provider OpenAI", 0, "ready", "openai", "api_key", ""),
        ("--provider local", 0, "ready", "local", "none", ""),
        ("--provider openai-codex --no-refresh", 0, "ready", "openai-codex", "oauth", ""),
    ] {
        let (found, out, err) = auth(&env, &format!("check {line}"));
        assert_eq!((found, out.as_str()), (Some(code), word), "{line}: {err}");
        assert_eq!(err.is_empty(), code == 0, "{line}: {err}");
        let (found, out, _) = auth(&env, &format!("check {line} --json"));
        assert_eq!(found, Some(code), "{line}");
        let mut expected = vec![("status", word), ("provider", provider)];
        expected.extend((!kind.is_empty()).then_some(("authType", kind)));
        expected.extend((!reason.is_empty()).then_some(("reason", reason)));
        let fields: Vec<String> =
            expected.iter().map(|(k, v)| format!("\"{k}\":\"{v}\"")).collect();
        assert_eq!(out, format!("{{{}}}", fields.join(",")), "{line}");
    }
    let (_, out, _) = auth(&env, "check --provider cerebras --json --credentials");
    let expected = r#"{"status":"ready","provider":"cerebras","authType":"api_key","credentials":"from-command"}"#;
    assert_eq!(out, expected);
    assert_eq!(auth(&env, "check --provider anthropic --credentials").1, "token");
    assert_eq!(auth(&env, "check --provider xai --credentials").1, "not_ready");
}

#[test]
fn secrets_are_printed_on_request() {
    let env = setup();
    let stored = "The stored key of";
    for (line, code, expected) in [
        ("print-api-key --provider openai", 0, "sk-plain"),
        ("print-api-key openai", 0, "sk-plain"),
        ("print-api-key openai --provider openai", 0, "sk-plain"),
        ("print-api-key openai --provider google", 2, "got two providers: openai and google"),
        ("print-api-key --provider cerebras", 0, "from-command"),
        ("print-api-key --provider google", 0, "from-env"),
        ("print-api-key --model y1", 0, "yk"),
        (
            "print-api-key --provider anthropic",
            1,
            "Provider \"anthropic\" is configured with OAuth, not an API key\n\
             hint: print its token with `pi auth print-bearer-token`",
        ),
        ("print-api-key --provider groq", 1, stored),
        ("print-api-key --provider xai", 1, "the command ended with exit status: 3: oops"),
        (
            "print-api-key --provider fireworks",
            1,
            "No API key found for fireworks. Set FIREWORKS_API_KEY or store a key in auth.json.\n\
             hint: store a key with `pi auth set fireworks`",
        ),
        (
            "print-api-key --provider unknown",
            1,
            "Unknown provider \"unknown\".\n\
             hint: see the providers with `pi models --all`",
        ),
        ("print-api-key --provider local", 1, "needs no API key"),
        ("print-api-key", 2, "`pi auth print-api-key` requires a provider or --model"),
        (
            "print-api-key --provider openai --json",
            2,
            "Unknown option of `pi auth print-api-key`: --json",
        ),
        ("print-bearer-token --provider anthropic", 0, "token"),
        ("print-bearer-token --provider anthropic --min-expiry 30m", 0, "token"),
        ("print-bearer-token --provider anthropic --min-expiry 0s", 0, "token"),
        (
            "print-bearer-token --provider anthropic --min-expiry 99999999999h",
            1,
            "earlier than --min-expiry requires",
        ),
        ("print-bearer-token --provider openai-codex", 1, "The login of openai-codex "),
        (
            "print-api-key --provider openrouter",
            1,
            "hint: store a key with `pi auth set openrouter`",
        ),
        (
            "print-bearer-token --provider openai",
            1,
            "Provider \"openai\" is not configured with an OAuth bearer token",
        ),
        (
            "print-bearer-token --provider anthropic --min-expiry 30",
            2,
            "--min-expiry must use a duration such as 30m or 1h",
        ),
        ("print-bearer-token --provider anthropic --min-expiry 1.5h", 2, "--min-expiry must use"),
        (
            "print-bearer-token --provider anthropic --min-expiry",
            2,
            "--min-expiry requires a value",
        ),
    ] {
        let (found, out, err) = auth(&env, line);
        assert_eq!(found, Some(code), "{line}: {out}{err}");
        if code == 0 {
            assert_eq!((out.as_str(), err.as_str()), (expected, ""), "{line}");
        } else {
            assert!(out.is_empty() && err.contains(expected), "{line}: {out}{err}");
        }
    }
}

#[test]
fn broken_files_do_not_fall_back_to_another_key() {
    for (file, text, code) in [
        ("auth.json", "{broken", 6),
        ("auth.json", r#"{"google":{"type":"new"}}"#, 6),
        ("auth.json", r#"{"google":"text"}"#, 6),
        ("models.json", "{broken", 6),
    ] {
        let env = TestEnv::new();
        write(&env, file, text);
        let (found, out, err) = auth(&env, "check --provider google --json");
        assert_eq!(found, Some(2), "{text}: {err}");
        assert_eq!(out, r#"{"status":"invalid","provider":"google","reason":"invalid_state"}"#);
        assert!(err.contains(&format!("[ROOT]/home/.pi/agent/{file}: ")), "{err}");
        let (found, out, _) = auth(&env, "print-api-key --provider google");
        assert_eq!((found, out.as_str()), (Some(code), ""), "{text}");
        assert_eq!(auth(&env, "list").0, Some(code), "{text}");
        assert_eq!(std::fs::read_to_string(env.agent().join(file)).unwrap(), text);
    }
}

#[test]
fn list_shows_sources_and_no_secrets() {
    let env = setup();
    let (code, out, err) = auth(&env, "list");
    assert_eq!((code, err.as_str()), (Some(0), ""));
    insta::assert_snapshot!(out);
    let (_, json, _) = auth(&env, "list --json");
    let list: Vec<Value> = serde_json::from_str(&json).unwrap();
    let find = |name: &str| list.iter().find(|row| row["provider"] == name).unwrap().clone();
    assert_eq!(
        find("google"),
        json!({ "provider": "google", "type": "api_key", "source": "GEMINI_API_KEY", "usable": true })
    );
    assert_eq!(find("openai-codex")["usable"], false);
    assert_eq!(find("openai-codex")["expires"], 1000.0);
    for secret in ["sk-plain", "token", "yk", "from-env", "from-command", "sk-unknown"] {
        assert!(!out.contains(secret) && !json.contains(secret), "{secret}");
    }
    let none = TestEnv::new().pi(&["auth", "list"]);
    assert_eq!(
        (none.status.code(), none.stdout.len()),
        (Some(0), 0),
        "an empty list is not an error"
    );
    assert!(String::from_utf8(none.stderr).unwrap().contains("store a key with `pi auth set`"));
}

/// Runs `pi` with this input. Returns the exit code, and stdout followed by stderr.
fn pipe(env: &TestEnv, words: &[&str], input: &[u8]) -> (Option<i32>, String) {
    let mut command = env.command(words);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // The program may end without reading.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), env.stable(&String::from_utf8(text).unwrap()))
}

#[test]
fn keys_are_stored_literally_and_removed() {
    let env = TestEnv::new();
    let set = ["auth", "set", "openai"];
    for key in ["sk-1", "$HOME", "!echo no", "a$$b${c}!", "$!x"] {
        let key = key.replace(' ', "-");
        let (code, said) = pipe(&env, &set, format!("{key}\n").as_bytes());
        let expected = "stored a key for openai in [ROOT]/home/.pi/agent/auth.json\n";
        assert_eq!((code, said.as_str()), (Some(0), expected));
        assert_eq!(env.out(&["auth", "print-api-key", "--provider", "openai"]), key + "\n");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(env.agent().join("auth.json")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    assert_eq!(env.out(&["auth", "remove", "openai"]), "removed the credential of openai\n");
    let (code, said) = env.failure(&["auth", "remove", "openai"]);
    assert_eq!(code, Some(1));
    assert_eq!(
        said,
        "pi: no credential is stored for \"openai\"\n\
         hint: see `pi auth status` for the sources of credentials\n"
    );
}

#[test]
fn storing_a_key_keeps_everything_else() {
    let env = setup();
    let path = env.agent().join("auth.json");
    let read = || serde_json::from_str::<Value>(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let before = read();
    for (provider, input, code, expected) in [
        ("openai", &b""[..], 2, "standard input contains no key; nothing was stored"),
        ("openai", b" \n", 2, "standard input contains no key"),
        ("openai", b"two words", 2, "standard input contains more than one word"),
        ("openai", b"one\ntwo", 2, "standard input contains more than one word"),
        ("openai", b"\xff\xfe", 2, "standard input is not valid UTF-8"),
        ("openai", &vec![b'x'; 70_000], 2, "standard input is longer than any key"),
        ("opnai", b"k", 2, "unknown provider \"opnai\"\nhint: did you mean openai?"),
        ("quite-unknown", b"k", 2, "hint: add the provider to models.json first"),
        (
            "anthropic",
            b"k",
            1,
            "a login is stored for anthropic\nhint: to replace it, first run `pi auth logout anthropic`",
        ),
    ] {
        let (found, said) = pipe(&env, &["auth", "set", provider], input);
        assert_eq!(found, Some(code), "{said}");
        assert!(said.contains(expected), "{said}");
        assert_eq!(read(), before, "{said}");
    }
    assert_eq!(pipe(&env, &["auth", "set", "openai"], b"new").0, Some(0));
    let mut expected = before;
    expected["openai"]["key"] = "new".into();
    assert_eq!(read(), expected, "the rest of the file is unchanged");
    assert_eq!(env.failure(&["auth", "set", "openai", "sk-argument"]).0, Some(2));

    write(&env, "auth.json", "{broken");
    let (code, said) = pipe(&env, &["auth", "set", "openai"], b"new");
    assert_eq!(code, Some(6));
    assert!(said.contains("auth.json: line 1, column 2: "), "{said}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{broken");
}

#[cfg(unix)]
#[test]
fn a_key_is_asked_for_on_a_terminal_and_not_shown() {
    use crate::terminal::Terminal;

    let env = TestEnv::new();
    let stored = || std::fs::read_to_string(env.agent().join("auth.json")).unwrap_or_default();
    let mut terminal = Terminal::start(env.command(&["auth", "set", "openai"]));
    terminal.wait_for("API key of openai (not shown): ");
    terminal.type_text("sk-hidden\x03");
    let (status, shown) = terminal.finish();
    assert_eq!((status.code(), stored().as_str()), (Some(130), ""), "{shown}");
    let mut terminal = Terminal::start(env.command(&["auth", "set", "openai"]));
    terminal.wait_for("API key of openai (not shown): ");
    terminal.type_text("sk-hidden\r");
    terminal.wait_for("stored a key for openai");
    let (status, shown) = terminal.finish();
    assert!(status.success() && stored().contains("sk-hidden"), "{shown}");
    assert!(!shown.contains("sk-hidden"), "{shown}");
}

/// The same explanation everywhere.
#[test]
fn a_run_explains_an_unusable_key_like_the_check() {
    let env = TestEnv::new();
    std::fs::create_dir_all(env.agent()).unwrap();
    let auth = r#"{"openai": {"type": "api_key", "key": "$NOPE_VAR"}}"#;
    std::fs::write(env.agent().join("auth.json"), auth).unwrap();
    let why = "The stored key of openai cannot be resolved: the variable NOPE_VAR is not set. \
               Correct it in auth.json.";
    for arguments in [
        &["auth", "check", "--provider", "openai"][..],
        &["--model", "openai/gpt-5", "-p", "hi"],
        &["--list-models"],
    ] {
        let (_, stderr) = env.failure(arguments);
        assert!(stderr.contains(why), "{arguments:?}: {stderr}");
    }
    let missing = "No API key found for groq. Set GROQ_API_KEY or store a key in auth.json.";
    for arguments in [
        &["auth", "check", "--provider", "groq"][..],
        &["--model", "groq/openai/gpt-oss-120b", "-p", "hi"],
    ] {
        let (_, stderr) = env.failure(arguments);
        assert!(stderr.contains(missing), "{arguments:?}: {stderr}");
        assert!(stderr.contains("store a key with `pi auth set groq`"), "{arguments:?}: {stderr}");
    }
}

#[test]
fn misspelled_settings_of_logins_are_reported() {
    let env = TestEnv::new();
    std::fs::create_dir_all(env.agent()).unwrap();
    let settings = r#"{"oauth": {"openrouter": {"clientIdd": "a"}}, "theme": 7}"#;
    std::fs::write(env.agent().join("settings.json"), settings).unwrap();
    let (code, stderr) = env.failure(&["auth", "status", "openrouter"]);
    assert_eq!(code, Some(6), "{stderr}");
    assert!(stderr.contains("`oauth.openrouter.clientIdd`"), "{stderr}");
    assert!(!stderr.contains("theme"), "other settings do not concern logins: {stderr}");
}
