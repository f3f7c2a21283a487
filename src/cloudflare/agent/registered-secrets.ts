import * as v from 'valibot';
import type { Config } from '../config/config.ts';
import { log, toFailureFields } from '../log.ts';
import { askRegistry, type Entry, type EntryKind } from '../objects/directory/registry.ts';

/** Secrets by their names. */
export type Secrets = Readonly<Record<string, string>>;

const schema = v.record(v.string(), v.string());

/** What secrets belong to: something that an owner has registered. */
export interface Registered {
	readonly owner: string;
	readonly kind: EntryKind;
	readonly name: string;
}

/** Seals secrets for the registry. Nothing if there are none. Throws `not_configured` without `SECRETS_KEY`. */
export async function sealSecrets(config: Config, about: Registered, secrets: Secrets): Promise<string | undefined> {
	if (Object.keys(secrets).length === 0) return undefined;
	return config.findSecretsBox().seal(JSON.stringify(secrets), toLabel(about));
}

/** Opens the secrets of an entry. Nothing if no key of `SECRETS_KEY` opens them. */
export async function openSecrets(
	config: Config,
	about: Registered,
	{ sealed }: Pick<Entry, 'sealed'>,
): Promise<Secrets | undefined> {
	if (sealed === undefined) return {};
	const opened = await config.findSecretsBox().open(sealed, toLabel(about));
	return opened === undefined ? undefined : v.parse(schema, JSON.parse(opened));
}

/**
 * Seals the secrets of an entry again if an older key did it, so that this key can be taken out. A failure is logged
 * and costs nothing: the next reader tries it again.
 */
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

/** Binds secrets to their place: they open for nobody else, and for nothing else of the same owner. */
function toLabel({ owner, kind, name }: Registered): string {
	return JSON.stringify([owner, kind, name]);
}
