import * as v from 'valibot';
import { RunletError } from '../../core/base/errors.ts';
import type { Config } from '../config/config.ts';
import { log, toFailureFields } from '../log.ts';
import { askRegistry, type Entry, type EntryKind } from '../objects/directory/registry.ts';

export type Secrets = Readonly<Record<string, string>>;

const schema = v.record(v.string(), v.string());

export interface Registered {
	readonly owner: string;
	readonly kind: EntryKind;
	readonly name: string;
}

/** Returns undefined if there are no secrets. Throws `not_configured` if `SECRETS_KEY` is not set. */
export async function sealSecrets(config: Config, about: Registered, secrets: Secrets): Promise<string | undefined> {
	if (Object.keys(secrets).length === 0) return undefined;
	return config.findSecretsBox().seal(JSON.stringify(secrets), toLabel(about));
}

/** Returns undefined if no key of `SECRETS_KEY` opens the secrets. */
export async function openSecrets(
	config: Config,
	about: Registered,
	{ sealed }: Pick<Entry, 'sealed'>,
): Promise<Secrets | undefined> {
	if (sealed === undefined) return {};
	const opened = await config.findSecretsBox().open(sealed, toLabel(about));
	return opened === undefined ? undefined : v.parse(schema, JSON.parse(opened));
}

/** Opens the secrets of an entry. Throws `conflict` if no key of `SECRETS_KEY` opens them. */
export async function openOrRefuse(config: Config, about: Registered, entry: Pick<Entry, 'sealed'>): Promise<Secrets> {
	const secrets = await openSecrets(config, about, entry);
	if (secrets !== undefined) return secrets;
	const field = about.kind === 'tool' ? 'gen_ai.tool.name' : 'runlet.mcp.server';
	log('warn', 'registry.secrets_not_readable', { [field]: about.name });
	const remedy = 'SECRETS_KEY has no longer their key. Its owner has to define it again';
	throw new RunletError('conflict', `The secrets of ${about.name} cannot be read: ${remedy}.`);
}

export async function openKept(
	config: Config,
	about: Registered,
	before: Entry | undefined,
	wanted: readonly string[],
): Promise<Secrets> {
	const secrets = before === undefined || wanted.length === 0 ? {} : await openSecrets(config, about, before);
	return Object.fromEntries(Object.entries(secrets ?? {}).filter(([name]) => wanted.includes(name)));
}

/** Seals secrets again if an older key sealed them, so that the older key can be removed. Only logs a failure. */
export async function resealSecrets(config: Config, about: Registered, entry: Entry): Promise<void> {
	const { sealed, version: replaces, definition } = entry;
	if (sealed === undefined) return;
	try {
		if (await config.findSecretsBox().isCurrent(sealed)) return;
		const secrets = await openSecrets(config, about, entry);
		if (secrets === undefined) return;
		const { kind, name, owner } = about;
		const again = { kind, name, definition, replaces, sealed: await sealSecrets(config, about, secrets), most: 0 };
		await askRegistry(config.directories, owner, (one) => one.putEntry(again));
	} catch (error) {
		log('warn', 'registry.not_resealed', toFailureFields(error));
	}
}

/** Binds secrets to their entry and owner. They cannot be opened for another entry or owner. */
function toLabel({ owner, kind, name }: Registered): string {
	return JSON.stringify([owner, kind, name]);
}
