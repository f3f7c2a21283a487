import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as v from 'valibot';
import { type Client, listWays } from './client.ts';
import { columns, findNote, notes } from './matrix.ts';

const root = join(import.meta.dirname, '../../..');
export const page = join(root, 'docs/clients.md');
const manifest = v.object({ devDependencies: v.record(v.string(), v.string()) });

/** Returns `docs/clients.md` with the section "The matrix" as the tests of these clients have it. */
export async function writePage(clients: readonly Client[]): Promise<string> {
	const [text, json] = await Promise.all([readFile(page, 'utf8'), readFile(join(root, 'package.json'), 'utf8')]);
	const { devDependencies } = v.parse(manifest, JSON.parse(json));
	const section = /(?<=^## The matrix\n\n)[\s\S]*?(?=^## )/m;
	if (!section.test(text)) throw new Error('docs/clients.md has no section "The matrix".');
	return text.replace(section, () => `${writeMatrix(clients, devDependencies)}\n`);
}

function writeMatrix(clients: readonly Client[], versions: Readonly<Record<string, string>>): string {
	const names = Object.keys(columns);
	const letters = new Map(Object.keys(notes).map((note, index) => [note, String.fromCharCode(97 + index)]));
	const toCell = (client: Client, column: string): string => {
		const [first = '', ...others] = listWays(client).map((way) => {
			const note = findNote(client, way, column);
			return note === undefined ? '✓' : (letters.get(note) ?? '');
		});
		return others.every((other) => other === first) ? first : [first, ...others].join(' / ');
	};
	const head = [`| client | ${names.join(' | ')} |`, `|---|${names.map(() => ':-:|').join('')}`];
	const wires = [...new Set(clients.map(({ wire }) => wire))].flatMap((wire) => [
		`### ${wire}\n`,
		...head,
		...clients
			.filter((client) => client.wire === wire)
			.map((client) => {
				const about = client.packages.map((name) => nameVersion(name, versions[name] ?? '')).join(' with ');
				const only = listWays(client).length === 1 ? ' (streams only)' : '';
				return `| ${about}${only} | ${names.map((name) => toCell(client, name)).join(' | ')} |`;
			}),
		'',
	]);
	return [
		'A cell is a test of a client with a server. ✓ means that the client, without a stream and with one,\n',
		...Object.entries(columns).map(([name, { text }]) => `- **${name}**: ${text}.`),
		'\nA letter stands for what the client does instead; of two marks the second holds for streams. The client\n',
		...Object.entries(notes).map(([note, { text }]) => `- **${letters.get(note)}** ${text}`),
		'',
		...wires,
	].join('\n');
}

/** Names a package and its version. An entry such as `npm:openai@5.12.2` stands for another package. */
function nameVersion(name: string, entry: string): string {
	const [, real = name, version = entry] = /^npm:(.+)@(.+)$/.exec(entry) ?? [];
	return `\`${real}\` ${version}`;
}
