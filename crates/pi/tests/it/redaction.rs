//! Redaction of what enters a session, with the binary and a scripted model.

use std::fs;

use crate::guard::{bash, model, results};
use crate::test_env::TestEnv;

/// A value that no format reveals.
const VALUE: &str = "q7Zr2KfW9xLm4TnB8vYc3HdP6sGj1AeU";

#[test]
fn attached_and_context_files_are_redacted_and_typed_text_is_not() {
    let env = TestEnv::new();
    let server = model(&env, &[]);
    fs::write(env.project().join(".env"), format!("PLAIN={VALUE}\n")).unwrap();
    fs::write(env.project().join("AGENTS.md"), format!("Use the key {VALUE}.\n")).unwrap();
    env.out(&["-p", "@.env", "Is it valid?"]);
    let request = server.requests()[0].to_string();
    assert!(!request.contains(VALUE), "{request}");
    assert_eq!(request.matches("[masked:").count(), 2, "{request}");
    let server = model(&env, &[]);
    env.out(&["-p", &format!("Is {VALUE} valid?")]);
    assert!(server.requests()[0].to_string().contains(&format!("Is {VALUE} valid?")));
}

#[test]
fn values_of_env_files_are_redacted_in_transformed_output() {
    let env = TestEnv::new();
    let commands = ["base64 .env", "xxd -p .env || od -An -tx1 .env", "rev .env", "fold -w 9 .env"];
    let calls: Vec<_> = commands.iter().map(|command| bash(command)).collect();
    let server = model(&env, &calls);
    fs::write(env.project().join(".env"), format!("PLAIN={VALUE}\n")).unwrap();
    env.out(&["-p", "go"]);
    for (command, result) in commands.iter().zip(results(&server)) {
        assert!(result.contains("[masked:"), "{command}: {result}");
    }
    assert_eq!(fs::read_to_string(env.project().join(".env")).unwrap(), format!("PLAIN={VALUE}\n"));
}

/// Real programs show the value of a `.env` file that is not in the working directory itself.
#[test]
fn variables_of_directories_below_are_redacted_in_many_forms() {
    let commands = [
        "cat k/.env",
        "rev k/.env",
        "od -c k/.env",
        "od -An -tx1 k/.env",
        "od -b k/.env",
        "base64 k/.env",
        "base32 k/.env",
        "fold -w1 k/.env | nl",
        "fold -w4 k/.env | cat -n",
        "sed 's/./\\x1b[31m&\\x1b[0m/g' k/.env",
        "sed 's/./&\\x08&/g' k/.env",
        "cut -c7-19 k/.env",
        "perl -0777 -ne 'print unpack(\"B*\", $_)' k/.env",
        "perl -0777 -ne 'print pack(\"u\", $_)' k/.env",
        "perl -CS -pe 's/([!-~])/chr(ord($1) + 0xfee0)/ge' k/.env",
    ];
    let env = TestEnv::new();
    let server = model(&env, &commands.map(bash));
    fs::create_dir(env.project().join("k")).unwrap();
    fs::write(env.project().join("k/.env"), format!("TOKEN={VALUE}\n")).unwrap();
    env.out(&["-p", "Go"]);
    for (command, result) in commands.iter().zip(results(&server)) {
        assert!(result.contains("[masked:"), "{command}: {result}");
        assert!(!result.contains(&VALUE[..12]), "{command}: {result}");
    }
}
