//! Runs the `rpc_client` example against the binary.

#![allow(unreachable_pub)] // The example is also a program.

#[path = "../../../pi-rpc/examples/rpc_client.rs"]
mod rpc_client;

use crate::test_env::TestEnv;

#[test]
fn the_rpc_client_example_works() {
    let env = TestEnv::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let command = tokio::process::Command::from(env.command(&["--no-session"]));
    let output = runtime.block_on(rpc_client::run(command)).unwrap();
    let expected = [
        "hello from \"pi\"",
        "\"from a command\\n\" with code Some(0)",
        "1 message(s), busy: false",
        "set_model: Model not found: unknown/model",
        "events: [\"bash_execution_update\"]",
    ];
    assert_eq!(output, expected);
}
