/** `runlet keys`: makes, lists and revokes API keys (docs/keys.md). */

import { relative } from 'node:path';
import { isOver, type KeyRecord, readKeyId } from '../cloudflare/auth/key.ts';
import { toMessageText } from '../core/base/errors.ts';
import { formatDollars } from '../core/base/text.ts';
import { isPushed, listStoredKeys, makeStoredKey, type Place, pushKeys, revokeStoredKey } from './keys/deployed.ts';
import { changeKeys, createKey, defaultKeysFile, type Keys, readKeys, rotateKey, toSecret } from './keys/file.ts';
import { toKeyOptions } from './keys/options.ts';
import { assertNotTakenByNpm, parseOptions, toBasePath } from './options.ts';
import { assertConfig, defaultConfig, toCommand } from './project.ts';
import type { Target } from './wrangler.ts';

export const usage = `${toCommand('keys', 'make [NAME]')}   makes an API key, and shows it once
${toCommand('keys', 'list')}          the keys that there are
${toCommand('keys', 'rotate ID')}     makes a second key for its owner, and lets the first one end in 7 days
${toCommand('keys', 'revoke ID')}     takes one away
  --remote            at the deployed Worker too, at once
  --stored            make, list, revoke: keys that the deployed Worker stores, thousands of them
  --url URL, --key KEY   with --stored: the Worker, and a key with the scopes keys and admin
                      (RUNLET_URL, RUNLET_API_KEY)
  --owner OWNER       make: the owner whose sessions it opens, such as shop; keys of one owner share them
                      (a new owner with the id of the key, so name one)
  --user USER         make: the person who holds it (nobody: then all such keys of an owner count as one person)
  --role ROLE         make: customer, staff or admin: what it may do in its owner (admin)
  --scope run,admin,keys   make: what it allows for all owners (run: nothing)
  --day-tokens N, --day-usd N   make: what its owner may spend on a UTC day
  --rate N            make: the requests that it may make in 10 seconds (the limit of wrangler.toml)
  --overlap-days N    rotate: for how long both are good (7; 0 ends the first one now)
  --replace           with --remote: also where the deployed Worker has keys that are not known here
  --keys-file FILE    where their hashes are kept (keys.json)
  --base-path PATH    make: where createRunlet has a basePath, for the line that is printed
  --config FILE, --env NAME    as for wrangler
  --help              this text`;

const list = toCommand('keys', 'list');
const listRemote = `${list} --remote`;

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;

export async function run(args: readonly string[]): Promise<number> {
	const { values, positionals } = parseArguments(args);
	const [command, name, ...more] = positionals;
	if (values.help) return say(usage);
	if (more.length > 0)
		throw new TypeError(`"${more[0]}": expected one name. Put quotes around a name of several words.`);
	const file = values['keys-file'];
	const target = { config: values.config, env: values.env };
	const { remote = false, replace = false } = values;
	if (values.stored) return runStored(values, command, name);
	if (remote) assertConfig(target.config);
	const tell = async (keys: Keys, hint: string): Promise<number> => {
		if (!remote) return isKnown(keys, target) ? say(hint) : 0;
		await pushKeys(file, keys, target, { replace }).catch((cause: unknown) => {
			const why = `The deployed Worker was not told: ${toMessageText(cause)}`;
			throw new Error(`${why}\n${relative(process.cwd(), file)} has it. Try again: ${listRemote}`, {
				cause,
			});
		});
		return say('The deployed Worker has this list now.');
	};
	switch (command) {
		case 'make': {
			const { key, record } = await createKey(toKeyOptions(values, name));
			const keys = await changeKeys(file, (before) => withKey(before, record));
			show(key, record, file);
			if (values.owner !== undefined && keys.keys.filter(({ owner }) => owner === record.owner).length === 1)
				say(`The owner ${record.owner} is new: no other key of ${relative(process.cwd(), file)} has it.`);
			const code = await tell(keys, `The deployed Worker does not take it yet: ${listRemote}`);
			const basePath = toBasePath(values['base-path']);
			const known = remote ? keys.remotes[target.env ?? '']?.url : undefined;
			const url = known ?? `${remote ? 'https://ADDRESS' : 'http://127.0.0.1:8787'}${basePath}`;
			const dev = toCommand('dev', `--keys${basePath === '' ? '' : ` --base-path ${basePath}`}`);
			say(`${remote ? 'To try it' : `To try it, with ${dev} and the port of your server`}:\n\n${curlLine(key, url)}\n`);
			return code;
		}
		case 'list': {
			if (name !== undefined) throw new TypeError(`"${name}": list takes no name.`);
			const keys = await readKeys(file);
			say(
				keys.keys.length === 0 ? `There are no keys. Make one: ${toCommand('keys', 'make')}` : formatTable(keys.keys),
			);
			return tell(
				keys,
				isPushed(keys, target)
					? 'The deployed Worker has this list.'
					: `The deployed Worker has another list: ${listRemote}`,
			);
		}
		case 'rotate': {
			const days = toDays(values['overlap-days']);
			const old = findKey(await readKeys(file), name);
			const { key, record, ends } = await rotateKey(old, days);
			const keys = await changeKeys(file, (before) => withKey(withEnd(before, ends), record));
			show(key, record, file);
			say(
				days === 0
					? `${ends.id} has ended: it opens nothing any more.`
					: `Both keys are good until ${ends.expiresAt}: then ${ends.id} ends, and so do the session tokens that it made.`,
			);
			return tell(keys, `The deployed Worker knows of neither change yet: ${listRemote}`);
		}
		case 'revoke': {
			if (name === undefined)
				throw new TypeError(`Which one? ${toCommand('keys', 'revoke ID')} (${list} has the ids).`);
			const id = readKeyId(name) ?? name;
			const keys = await changeKeys(file, (before) => withoutKey(before, id));
			say(
				`Revoked ${id}.${keys.keys.length === 0 ? ' There are no keys left: a deployed Worker without any answers nobody.' : ''}`,
			);
			return tell(keys, `The deployed Worker still takes it: ${listRemote}`);
		}
		default:
			throw new TypeError(command === undefined ? 'What shall be done?' : `"${command}" is no command.`);
	}
}

function parseArguments(args: readonly string[]) {
	assertNotTakenByNpm([
		'remote',
		'owner',
		'user',
		'role',
		'scope',
		'day-tokens',
		'day-usd',
		'rate',
		'overlap-days',
		'replace',
		'keys-file',
		'base-path',
		'config',
		'stored',
		'url',
		'key',
	]);
	return parseOptions(toCommand('keys', '--help'), {
		args: [...args],
		allowPositionals: true,
		options: {
			remote: flag,
			owner: text,
			user: text,
			role: text,
			scope: text,
			'day-tokens': text,
			'day-usd': text,
			rate: text,
			'overlap-days': text,
			replace: flag,
			stored: flag,
			url: text,
			key: text,
			'base-path': text,
			'keys-file': { ...text, default: defaultKeysFile },
			config: { ...text, short: 'c', default: defaultConfig },
			env: { ...text, short: 'e' },
			help: { ...flag, short: 'h' },
		},
	});
}

type Values = ReturnType<typeof parseArguments>['values'];

/** Makes, lists and revokes the keys that a deployed Worker stores. */
async function runStored(values: Values, command: string | undefined, name: string | undefined): Promise<number> {
	const place = findPlace(values);
	switch (command) {
		case 'make': {
			const { key, ...made } = await makeStoredKey(place, toKeyOptions(values, name));
			say(`${describe(made)}\n\n  ${key}\n`);
			say('This is the only time that it is shown: the Worker has its hash, and nothing has the key.');
			return say(`To try it:\n\n${curlLine(key, place.url)}\n`);
		}
		case 'list': {
			const keys = await listStoredKeys(place);
			return say(keys.length === 0 ? 'There are no stored keys.' : keys.map(describe).join('\n'));
		}
		case 'revoke': {
			if (name === undefined) throw new TypeError(`Which one? ${list} --stored has the ids.`);
			const id = readKeyId(name) ?? name;
			await revokeStoredKey(place, id);
			return say(`Revoked ${id}: within a minute it opens nothing anywhere.`);
		}
		case 'rotate':
			throw new TypeError('--stored: make a second key with the same --owner, and revoke the first one later.');
		default:
			throw new TypeError(command === undefined ? 'What shall be done?' : `"${command}" is no command.`);
	}
}

function findPlace({ url = process.env.RUNLET_URL, key = process.env.RUNLET_API_KEY }: Values): Place {
	if (url === undefined || !URL.canParse(url))
		throw new TypeError(`--url ${url ?? ''}: expected the address of the Worker, such as https://runlet.example.com.`);
	return { url: url.replace(/\/+$/, ''), apiKey: key };
}

function show(key: string, record: KeyRecord, file: string): void {
	say(`${describe(record)}\n\n  ${key}\n`);
	say(
		`This is the only time that it is shown: ${relative(process.cwd(), file)} has its hash, and nothing has the key.`,
	);
}

/** Returns a curl command that uses the key. */
export function curlLine(key: string, url: string): string {
	return `  curl ${url}/v1/agents -H 'authorization: Bearer ${key}'`;
}

/** Adds a key to the list. Throws if the list does not fit into the Worker's secret. */
export function withKey(before: Keys, record: KeyRecord): Keys {
	const keys = [...before.keys, record];
	toSecret(keys);
	return { ...before, keys };
}

type Described = Omit<KeyRecord, 'hash' | 'scopes'> & { readonly scopes: readonly string[] };

/** Describes a key in one line. */
export function describe({
	id,
	name,
	owner,
	user,
	role,
	scopes,
	budget,
	rate,
	createdAt,
	...record
}: Described): string {
	const caps = [
		budget?.tokens === undefined ? [] : `${budget.tokens} tokens a day`,
		budget?.usd === undefined ? [] : `${formatDollars(budget.usd)} a day`,
		rate === undefined ? [] : `${rate} requests in 10 s`,
	].flat();
	const parts = [
		`key ${id}`,
		name ?? [],
		`owner ${owner}`,
		user === undefined ? [] : `user ${user}`,
		role ?? [],
		scopes.join('+'),
		caps,
		createdAt ?? [],
		record.expiresAt === undefined ? [] : `${isOver(record) ? 'ended' : 'ends'} ${record.expiresAt}`,
	];
	return parts.flat().join(', ');
}

function findKey({ keys }: Keys, idOrKey: string | undefined): KeyRecord {
	if (idOrKey === undefined) throw new TypeError(`Which one? ${toCommand('keys', 'rotate ID')} (${list} has the ids).`);
	const id = readKeyId(idOrKey) ?? idOrKey;
	const key = keys.find((one) => one.id === id);
	if (key === undefined) throw new Error(`There is no key ${id}. ${list} has the ids.`);
	if (key.expiresAt === undefined) return key;
	throw new Error(`The key ${id} ends on ${key.expiresAt}: another one took its place. Rotate that one.`);
}

function withEnd(before: Keys, ends: KeyRecord): Keys {
	return { ...before, keys: before.keys.map((key) => (key.id === ends.id ? ends : key)) };
}

/** Parses the number of days in which both the old and the new key are valid. */
function toDays(text = '7'): number {
	const days = Number(text);
	if (/^\d+$/.test(text) && days <= 365) return days;
	throw new TypeError(`--overlap-days ${text}: expected a whole number from 0 to 365.`);
}

function withoutKey(before: Keys, id: string): Keys {
	const keys = before.keys.filter((key) => key.id !== id);
	if (keys.length === before.keys.length) throw new Error(`There is no key ${id}. ${list} has the ids.`);
	return { ...before, keys };
}

function formatTable(keys: readonly KeyRecord[]): string {
	return keys.map(describe).join('\n');
}

/** Whether this folder has uploaded keys to the deployed Worker. */
function isKnown({ remotes }: Keys, { env = '' }: Target): boolean {
	return remotes[env] !== undefined;
}

/** Prints a text and returns the exit code. */
function say(words: string): number {
	console.log(words);
	return 0;
}
