//! Addresses that no rule may call, by whatever name and in whatever notation.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What clouds tell their machines about themselves, outside of the ranges for that.
const METADATA_ADDRESSES: [Ipv4Addr; 3] =
    [Ipv4Addr::new(168, 63, 129, 16), Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(192, 0, 0, 192)];

/// Returns whether `address` is never called.
pub(crate) fn is_forbidden(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_forbidden_v4(address),
        IpAddr::V6(address) => is_forbidden_v6(address),
    }
}

/// Returns whether `address` belongs to a private network.
pub(crate) fn is_private(address: IpAddr) -> bool {
    let is_private_v4 = |address: Ipv4Addr| {
        address.is_private() || matches!(address.octets(), [100, 64..=127, ..] | [198, 18..=19, ..])
    };
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => {
            matches!(address.segments(), [0xfc00..=0xfdff, ..])
                || embedded_ipv4(address).is_some_and(is_private_v4)
        }
    }
}

fn is_forbidden_v4(address: Ipv4Addr) -> bool {
    address.is_loopback()
        || address.is_link_local()
        || address.is_unspecified()
        || address.is_multicast()
        || address.is_broadcast()
        // All of `0.0.0.0/8` is this network, and all of `240.0.0.0/4` is reserved.
        || matches!(address.octets(), [0 | 240..=255, ..])
        || METADATA_ADDRESSES.contains(&address)
}

fn is_forbidden_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let is_own = address.is_loopback()
        || address.is_unspecified()
        || address.is_multicast()
        || matches!(segments, [0xfe80..=0xfeff, ..])
        || matches!(segments, [0xfd00, 0x0ec2, ..]);
    is_own || embedded_ipv4(address).is_some_and(is_forbidden_v4)
}

/// Returns the older address that is written into a newer one: mapped, compatible, translated, or on the way to 6.
fn embedded_ipv4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d] = match address.octets() {
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d]
        | [0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, a, b, c, d]
        | [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d]
        | [0, 0x64, 0xff, 0x9b, _, _, _, _, _, _, _, _, a, b, c, d]
        | [0x20, 0x02, a, b, c, d, ..] => [a, b, c, d],
        [0x20, 0x01, 0, 0, .., a, b, c, d] => [!a, !b, !c, !d],
        _ => return None,
    };
    Some(Ipv4Addr::new(a, b, c, d))
}
