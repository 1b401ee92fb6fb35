//! Renewal of logins by many processes at once, and by processes that are killed.
//!
//! The server replaces the refresh token with each renewal and ends the login if an old one is used
//! again, so a second renewal with the same token would be seen by everyone.

mod server;

use std::fs;
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::test_env::TestEnv;
pub(crate) use server::TokenServer;
use server::tokens;

/// A user who has signed in to a provider of the settings.
pub(crate) struct LoginEnv {
    pub(crate) env: TestEnv,
    pub(crate) server: TokenServer,
}

impl LoginEnv {
    /// Creates a user with an expired login.
    pub(crate) fn new(delay: Duration, lifetime: u64) -> Self {
        let env = Self { env: TestEnv::new(), server: TokenServer::start(delay, lifetime) };
        fs::create_dir_all(env.env.agent()).unwrap();
        env.write(
            "settings.json",
            &json!({"oauth": {"mock": {"authorizeUrl": env.server.url(),
                "tokenUrl": env.server.url(), "clientId": "test"}}}),
        );
        env.write(
            "models.json",
            &json!({"providers": {"mock": {"baseUrl": "http://127.0.0.1:1/v1",
                "api": "openai-completions", "models": [{"id": "m1"}]}}}),
        );
        env.sign_in();
        env
    }

    /// Stores the tokens of a new login, which have expired.
    fn sign_in(&self) {
        let (access, refresh) = self.server.sign_in();
        let login = json!({"type": "oauth", "access": access, "refresh": refresh,
            "expires": 1000, "account": "kept"});
        self.write("auth.json", &json!({"mock": login, "other": {"type": "api_key", "key": "o"}}));
    }

    fn write(&self, name: &str, content: &Value) {
        fs::write(self.env.agent().join(name), content.to_string()).unwrap();
    }

    fn stored(&self) -> Value {
        serde_json::from_slice(&fs::read(self.env.agent().join("auth.json")).unwrap()).unwrap()
    }

    pub(crate) fn start(&self) -> Child {
        let mut command = self.env.command(&["auth", "print-bearer-token", "--provider", "mock"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn run(&self) -> Output {
        self.start().wait_with_output().unwrap()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn fifty_processes_renew_an_expired_login_once() {
    // With tokens that live for seconds, the margin before their end must not lead to a second
    // renewal either.
    for lifetime in [3600, 60] {
        let env = LoginEnv::new(Duration::from_millis(300), lifetime);
        let running: Vec<Child> = (0..50).map(|_| env.start()).collect();
        let (access, refresh) = tokens(2);
        for child in running {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", text(&output.stderr));
            assert_eq!(text(&output.stdout).trim(), access);
        }
        let grant = env.server.grant();
        assert!(grant.renewals == 1 && !grant.is_revoked, "{grant:?}");
        let stored = env.stored();
        assert_eq!(stored["mock"]["refresh"], refresh);
        assert_eq!(stored["mock"]["account"], "kept", "fields of the login stay");
        assert_eq!(stored["mock"]["renewing"], Value::Null);
        assert_eq!(stored["other"]["key"], "o");
        assert!(!env.env.agent().join("auth.json.lock").exists());
    }
}

#[test]
fn a_login_that_has_ended_says_what_to_do() {
    let env = LoginEnv::new(Duration::ZERO, 3600);
    // Another program has used the token and was not able to store the new one.
    env.server.sign_in();
    let output = env.run();
    let error = text(&output.stderr);
    assert!(!output.status.success());
    assert!(error.contains("The login of mock has ended: "), "{error}");
    assert!(error.contains("Sign in again with `pi auth login mock`."), "{error}");
    let (access, refresh) = tokens(1);
    assert!(!error.contains(&access) && !error.contains(&refresh), "{error}");
    assert_eq!(env.stored()["mock"]["refresh"], refresh, "nothing is removed");
}

#[test]
fn killed_renewals_leave_a_usable_login_or_say_so() {
    kill(12, 1);
}

#[test]
#[ignore = "a thousand processes; `cargo xtask crash auth`"]
#[allow(clippy::disallowed_methods)] // The task passes the number and the seed in variables.
fn many_kills() {
    let number = |name: &str, default: u64| {
        std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
    };
    kill(number("PI_CRASH_RUNS", 1000), number("PI_CRASH_SEED", 1));
}

/// Kills processes at random points of a renewal. After each, another process must have the token,
/// or say that the user has to sign in again, and that only if the server has replaced the token.
fn kill(runs: u64, seed: u64) {
    let env = LoginEnv::new(Duration::from_millis(5), 3600);
    let start = Instant::now();
    assert!(env.run().status.success());
    let duration = start.elapsed();
    let mut random = seed;
    let mut ended = 0;
    let mut renewed_before = 0;
    for run in 0..runs {
        env.sign_in();
        let before = env.stored();
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Points after the usual end are of use too: machines are slow at times.
        let share = (random >> 33) as f64 / f64::from(u32::MAX >> 1) * 1.2;
        let mut child = env.start();
        std::thread::sleep(duration.mul_f64(share));
        child.kill().unwrap();
        child.wait().unwrap();
        // The request of a killed process may still be on its way.
        env.server.settle();
        let after = env.stored();
        assert_eq!(after["other"], before["other"], "run {run}");
        let was_replaced = env.server.grant().renewals == 1;
        let was_stored = after["mock"]["access"] != before["mock"]["access"];
        assert!(was_replaced || !was_stored, "run {run}");
        renewed_before += u64::from(was_stored);
        let output = env.run();
        let error = text(&output.stderr);
        if was_replaced && !was_stored {
            ended += 1;
            assert!(!output.status.success(), "run {run}");
            assert!(error.contains("Sign in again with `pi auth login mock`."), "{run}: {error}");
            assert!(error.contains("a former renewal was interrupted"), "run {run}: {error}");
        } else {
            assert!(output.status.success(), "run {run}: {error}");
        }
        let leftovers: Vec<String> = fs::read_dir(env.env.agent())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .filter(|name| {
                // The lock of a killed process stays until the next one that needs it.
                let known = ["auth.json", "auth.json.lock", "models.json", "settings.json"];
                !known.contains(&name.as_str())
            })
            .collect();
        assert!(leftovers.is_empty(), "run {run}: {leftovers:?}");
    }
    #[allow(clippy::print_stdout)] // Shown by `cargo xtask crash auth`.
    {
        println!(
            "{runs} kills: {renewed_before} after the renewal, {ended} lost the answer of the server"
        );
    }
}
