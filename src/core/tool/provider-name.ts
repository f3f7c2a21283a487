import { hashText } from '../ground/bytes.ts';

const valid = /^[a-zA-Z0-9_-]{1,64}$/;

/**
 * Returns the name under which a provider sees a tool. A valid name (`^[a-zA-Z0-9_-]{1,64}$`) stays as it is. Any other
 * name becomes a readable alias with a hash of the whole name, which is the same in every process. Adapters send the
 * alias; a call under the alias finds its tool.
 */
export function providerName(name: string): string {
	if (valid.test(name)) return name;
	const readable = name.replace(/[^a-zA-Z0-9_-]+/g, '_').replace(/^_+/, '');
	let end = readable.length;
	while (readable[end - 1] === '_') end--;
	return `${readable.slice(0, Math.min(end, 48))}_${hashText(name)}`.replace(/^_/, 't_');
}
