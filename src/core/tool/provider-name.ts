const valid = /^[a-zA-Z0-9_-]{1,64}$/;

/**
 * The name under which a provider sees a tool: a valid name (`^[a-zA-Z0-9_-]{1,64}$`) unchanged, any other as a readable
 * alias with a hash of the whole name, the same in every process. Adapters put it on the wire; a call that comes back
 * under it finds its tool.
 */
export function providerName(name: string): string {
	if (valid.test(name)) return name;
	const readable = name.replace(/[^a-zA-Z0-9_-]+/g, '_').replace(/^_+/, '');
	let end = readable.length;
	while (readable[end - 1] === '_') end--;
	return `${readable.slice(0, Math.min(end, 48))}_${hashName(name)}`.replace(/^_/, 't_');
}

/** cyrb53: 53 well-mixed bits as 11 letters and digits; short, synchronous, and not for secrets. */
export function hashName(text: string): string {
	let a = 0xdeadbeef;
	let b = 0x41c6ce57;
	for (let index = 0; index < text.length; index++) {
		const unit = text.charCodeAt(index);
		a = Math.imul(a ^ unit, 2654435761);
		b = Math.imul(b ^ unit, 1597334677);
	}
	a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
	b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
	return (4294967296 * (2097151 & b) + (a >>> 0)).toString(36).padStart(11, '0');
}
