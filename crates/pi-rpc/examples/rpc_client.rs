//! A program that drives another: `pi --mode rpc`, ours or the TypeScript one.
//!
//!     cargo build -p pi && cargo run -p pi-rpc --example rpc_client -- target/debug/pi
//!
//! It asks nothing of a model, so it needs no key.

use std::error::Error;
use std::process::Stdio;

use pi_rpc::{Client, Command};
use tokio::io::BufReader;

#[allow(dead_code)] // the tests call `run`
#[allow(clippy::disallowed_methods)] // a program outside of pi
#[allow(clippy::print_stdout)]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let program = std::env::args_os().nth(1).ok_or("which program? Give the path of pi")?;
    let mut command = tokio::process::Command::new(program);
    command.arg("--no-session");
    for line in run(command).await? {
        println!("{line}");
    }
    Ok(())
}

/// Starts the program and asks it this and that; returns what it said.
pub async fn run(mut program: tokio::process::Command) -> Result<Vec<String>, Box<dyn Error>> {
    program.args(["--mode", "rpc"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = program.kill_on_drop(true).spawn()?;
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("no pipes".into());
    };
    let (client, mut events) = Client::new(BufReader::new(output), input);
    // A client that does not read events stops the agent.
    let listening = tokio::spawn(async move {
        let mut kinds = Vec::new();
        while let Some(record) = events.recv().await {
            kinds.push(record.kind().to_owned());
        }
        kinds
    });

    let mut said = Vec::new();
    // An addition of ours; the TypeScript pi does not know it, and says so.
    match client.request(&Command::Hello { version: None }).await {
        Ok(hello) => said.push(format!("hello from {}", hello["name"])),
        Err(error) => said.push(error.to_string()),
    }
    let bash = client.bash("echo from a command").await?;
    said.push(format!("{:?} with code {:?}", bash.output, bash.exit_code));
    let state = client.state().await?;
    said.push(format!("{} message(s), busy: {}", state.message_count, state.is_streaming));
    let refused = client.set_model("unknown", "model").await;
    said.extend(refused.err().map(|error| error.to_string()));

    // The end of its input is the end of the program.
    client.close().await?;
    child.wait().await?;
    said.push(format!("events: {:?}", listening.await?));
    Ok(said)
}
