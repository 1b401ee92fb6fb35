//! The example that drives the program, run as it is.

#![allow(unreachable_pub)] // it is a program of its own, too

#[path = "../../../pi-coding-agent/examples/rpc_client.rs"]
mod rpc_client;

use crate::world::World;

#[test]
fn rpc_client_drives_the_program() {
    let world = World::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let command = tokio::process::Command::from(world.command(&["--no-session"]));
    let said = runtime.block_on(rpc_client::run(command)).unwrap();
    let expected = [
        "hello from \"pi\"",
        "\"from a command\\n\" with code Some(0)",
        "1 message(s), busy: false",
        "set_model: Model not found: nobody/nothing",
        "events: [\"bash_execution_update\"]",
    ];
    assert_eq!(said, expected);
}
