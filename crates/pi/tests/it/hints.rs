//! Hints on stderr: every error that the user can act on is followed by one line of advice.

use serde_json::json;

use crate::test_env::TestEnv;

const ONE: &str = "0193aaaa-1111-7000-8000-000000000001";
const TWO: &str = "0193aabb-2222-7000-8000-000000000002";

/// Configures two local providers that both have the model `shared`.
fn setup() -> TestEnv {
    let env = TestEnv::new();
    let provider = json!({ "baseUrl": "http://127.0.0.1:1/v1", "api": "openai-completions",
        "models": [{ "id": "shared" }] });
    let models = json!({ "providers": { "one": provider, "two": provider } });
    std::fs::create_dir_all(env.agent()).unwrap();
    std::fs::write(env.agent().join("models.json"), models.to_string()).unwrap();
    env
}

#[track_caller]
fn check(env: &TestEnv, arguments: &[&str], code: i32, expected: &str) {
    let (found, stderr) = env.failure(arguments);
    assert_eq!(env.stable(&stderr), expected, "{arguments:?}");
    assert_eq!(found, Some(code), "{arguments:?}");
}

#[test]
fn model_errors_have_hints() {
    let env = setup();
    let cases: &[(&[&str], &str)] = &[
        (
            &["--provider", "none", "--model", "x"],
            "pi: Unknown provider \"none\".\n\
             hint: see the providers with `pi models --all`\n",
        ),
        (
            &["--model", "no-such-model"],
            "pi: Model \"no-such-model\" not found.\n\
             hint: see the models with `pi models`\n",
        ),
        (
            &["--model", "shared"],
            "pi: Model \"shared\" is ambiguous across providers: one/shared, two/shared. \
             More than one matching provider is authenticated.\n\
             hint: choose a provider with --provider, or write the model as PROVIDER/ID\n",
        ),
        (
            &["--model", "shared", "--api-key", "k"],
            "pi: Model \"shared\" is ambiguous across providers: one/shared, two/shared. \
             An API key does not choose a provider.\n\
             hint: choose a provider with --provider, or write the model as PROVIDER/ID\n",
        ),
    ];
    for (arguments, expected) in cases {
        check(&env, &[&["-p", "Hello"], *arguments].concat(), 5, expected);
    }
}

#[test]
fn missing_credentials_have_hints() {
    let env = TestEnv::new();
    // Each word leads somewhere: a login, a key, a server, a look without any of them.
    let first = "hint: sign in with `pi auth login`, store a key with `pi auth set PROVIDER`, or \
                 start a model server on this machine (Ollama, LM Studio, llama.cpp, vLLM); `pi \
                 demo` shows pi at work without a model";
    let expected = format!(
        "pi: No model selected. Set a key, for example ANTHROPIC_API_KEY, or add a provider to \
         models.json.\n{first}\n"
    );
    check(&env, &["-p", "Hello"], 5, &expected);
    let expected = "pi: groq/openai/gpt-oss-120b cannot be used: No API key found for groq. \
                    Set GROQ_API_KEY or store a key in auth.json.\n\
                    hint: store a key with `pi auth set groq`, or choose another model with \
                    --model\n";
    let model = ["-p", "--model", "groq/openai/gpt-oss-120b", "Hello"];
    check(&env, &model, 5, expected);
    check(&env, &["--list-models"], 5, &format!("pi: no models available\n{first}\n"));
    let (code, stderr) = env.failure(&["models"]);
    assert_eq!(code, Some(5));
    assert!(stderr.starts_with(&format!("pi: no model can be used yet\n{first}; ")), "{stderr}");
    assert!(stderr.contains("`pi models --all` lists"), "{stderr}");
}

#[test]
fn session_references_have_hints() {
    let env = setup();
    env.session(ONE, &env.project(), "One?");
    env.session(TWO, &env.project(), "Two?");
    let elsewhere = env.project().join("../elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    env.session("0193cccc", &elsewhere.canonicalize().unwrap(), "Three?");
    let gone = env.session("0193dddd", "/gone".as_ref(), "Four?");
    let gone_path = gone.to_str().unwrap();
    let cases: &[(&[&str], i32, &str)] = &[
        (
            &["--session", "zzz"],
            1,
            "pi: No session found matching 'zzz'\n\
             hint: list all sessions with `pi sessions list --all`\n",
        ),
        (
            &["--session", "0193aa"],
            1,
            "pi: '0193aa' matches 2 sessions\nhint: give more characters of the id\n",
        ),
        (
            &["--session", "0193cc"],
            1,
            "pi: the session 0193cccc belongs to another directory: [ROOT]/elsewhere\n\
             hint: run pi in that directory, or continue a copy of the session here with \
             --fork 0193cccc\n",
        ),
        (
            &["--session", gone_path],
            1,
            "pi: Stored session working directory does not exist: /gone\n\
             hint: create the directory, or continue a copy of the session here with --fork \
             [GONE]\n",
        ),
        (
            &["--fork", ONE, "--session-id", TWO],
            1,
            "pi: Session already exists with id '[TWO]'\n\
             hint: resume it with --session [TWO], or choose another --session-id\n",
        ),
    ];
    for (arguments, code, expected) in cases {
        let expected = expected.replace("[GONE]", &env.stable(gone_path)).replace("[TWO]", TWO);
        let model = ["-p", "--model", "one/shared", "Hello"];
        check(&env, &[&model[..], arguments].concat(), *code, &expected);
    }
}

#[test]
fn policy_errors_have_hints() {
    let env = setup();
    let settings = r#"{"guard": {"profile": 1}}"#;
    std::fs::write(env.agent().join("settings.json"), settings).unwrap();
    let hint = "\nhint: fix the file or remove it; no command runs without a valid policy\n";
    for arguments in [&["policy", "check", "--", "ls"][..], &["-p", "--model", "one/shared", "x"]] {
        let (code, stderr) = env.failure(arguments);
        assert_eq!(code, Some(6), "{stderr}");
        assert!(stderr.contains("pi: the settings are invalid: "), "{stderr}");
        assert!(stderr.ends_with(hint), "{stderr}");
    }
}

#[test]
fn usage_errors_have_hints() {
    let env = TestEnv::new();
    check(&env, &["-x"], 2, "pi: Unknown option: -x\nhint: see `pi --help`\n");
}

#[test]
fn a_name_without_a_registry_hints_at_sources() {
    let env = TestEnv::new();
    let (code, stderr) = env.failure(&["install", "some-package"]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("Path does not exist"), "{stderr}");
    assert!(stderr.contains("npm:some-package") && stderr.contains("git:HOST"), "{stderr}");
}

#[test]
fn a_session_that_is_open_elsewhere_says_how_to_continue_a_copy() {
    let env = setup();
    let path = env.session(ONE, &env.project(), "Hello");
    let _open = pi_session::Session::open(&path, &pi_session::OpenOptions::append()).unwrap();
    let (_, stderr) = env.failure(&["-p", "--session", ONE, "--model", "one/shared", "Hi"]);
    assert!(stderr.contains("open in another pi"), "{stderr}");
    assert!(stderr.contains(&format!("continue a copy with --fork {ONE}")), "{stderr}");
}

#[test]
fn a_missing_letter_is_more_likely_than_a_wrong_one() {
    let env = TestEnv::new();
    for (typed, meant) in [("--modl", "--model"), ("--moed", "--mode"), ("--prnt", "--print")] {
        let (_, stderr) = env.failure(&["-p", typed, "x"]);
        assert!(stderr.contains(&format!("did you mean {meant}?")), "{typed}: {stderr}");
    }
}

/// The few models that can be used are not lost among those of all vendors.
#[test]
fn usable_models_are_listed_first() {
    let env = setup();
    let rows = |arguments: &[&str]| -> Vec<String> {
        let lines = env.out(arguments);
        let names = lines.lines().skip(1).map(|line| {
            let mut words = line.split_whitespace();
            format!("{}/{}", words.next().unwrap(), words.next().unwrap())
        });
        names.collect()
    };
    assert_eq!(rows(&["models"]), ["one/shared", "two/shared"]);
    let all = rows(&["models", "--all"]);
    assert!(all.len() > 500, "{}", all.len());
    assert_eq!(all[..2], ["one/shared", "two/shared"]);
    // A provider of this name precedes models that only have its letters.
    let found = rows(&["models", "list", "one"]);
    assert_eq!(found[0], "one/shared");
    assert!(found.len() > 1);
    let groq = rows(&["models", "list", "groq"]);
    let first = groq.iter().position(|name| !name.starts_with("groq/")).unwrap_or(groq.len());
    assert!(first > 1 && groq[first..].iter().all(|name| !name.starts_with("groq/")), "{groq:?}");
}
