import { hashText } from '../ground/hash.ts';

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
	return `${readable.slice(0, Math.min(end, 48))}_${hashText(name)}`.replace(/^_/, 't_');
}
