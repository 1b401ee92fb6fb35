//! Addresses of the machine's network interfaces, from the files of the kernel.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use serde_json::{Value, json};

/// Returns the addresses by the name of their interface, as `os.networkInterfaces` has them.
pub(super) fn interfaces() -> Value {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let routes = routes(&read("/proc/net/route"));
    for address in local_addresses(&read("/proc/net/fib_trie")) {
        let bits = u32::from(address);
        let route = routes.iter().find(|route| bits & route.mask == route.network);
        let (name, mask) = match route {
            Some(route) => (route.interface.clone(), route.mask),
            None if address.is_loopback() => ("lo".to_owned(), 0xff00_0000),
            None => continue,
        };
        let entry =
            entry(&name, "IPv4", &address.to_string(), mask.count_ones(), address.is_loopback());
        let mut entry = entry;
        entry["netmask"] = Ipv4Addr::from(mask).to_string().into();
        found.entry(name).or_default().push(entry);
    }
    for line in read("/proc/net/if_inet6").lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [hex, _, prefix, _, _, name] = fields.as_slice() else { continue };
        let Ok(bits) = u128::from_str_radix(hex, 16) else { continue };
        let Ok(prefix) = u32::from_str_radix(prefix, 16) else { continue };
        let address = Ipv6Addr::from(bits);
        let mut entry = entry(name, "IPv6", &address.to_string(), prefix, address.is_loopback());
        let mask = u128::MAX.checked_shl(128 - prefix.min(128)).unwrap_or(0);
        entry["netmask"] = Ipv6Addr::from(mask).to_string().into();
        entry["scopeid"] = 0.into();
        found.entry((*name).to_owned()).or_default().push(entry);
    }
    json!(found)
}

fn entry(name: &str, family: &str, address: &str, prefix: u32, is_internal: bool) -> Value {
    let hardware = std::fs::read_to_string(format!("/sys/class/net/{name}/address"));
    json!({
        "address": address,
        "netmask": "",
        "family": family,
        "mac": hardware.map_or_else(|_| "00:00:00:00:00:00".to_owned(), |mac| mac.trim().to_owned()),
        "internal": is_internal,
        "cidr": format!("{address}/{prefix}"),
    })
}

/// A network that an interface reaches directly.
struct Route {
    interface: String,
    network: u32,
    mask: u32,
}

fn routes(table: &str) -> Vec<Route> {
    let number = |field: &str| u32::from_str_radix(field, 16).map(u32::swap_bytes).ok();
    let route = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (network, mask) = (number(fields.get(1)?)?, number(fields.get(7)?)?);
        (mask != 0).then(|| Route { interface: fields[0].to_owned(), network, mask })
    };
    table.lines().skip(1).filter_map(route).collect()
}

/// Returns the addresses that the kernel marks as local.
fn local_addresses(trie: &str) -> Vec<Ipv4Addr> {
    let mut addresses = Vec::new();
    let mut last = None;
    for line in trie.lines() {
        if let Some((_, address)) = line.split_once("|-- ") {
            last = address.trim().parse().ok();
        } else if line.contains("/32 host LOCAL")
            && let Some(address) = last
            && !addresses.contains(&address)
        {
            addresses.push(address);
        }
    }
    addresses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_from_the_tables_of_the_kernel() {
        let trie = "Main:\n  +-- 0.0.0.0/0\n     |-- 10.0.0.5\n        /32 host LOCAL\n     |-- 10.0.0.255\n        /32 link BROADCAST\n";
        assert_eq!(local_addresses(trie), [Ipv4Addr::new(10, 0, 0, 5)]);
        let table = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n\
                     eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
                     eth0\t0000000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";
        let found = routes(table);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].network, found[0].mask), (0x0a00_0000, 0xffff_ff00));
    }
}
