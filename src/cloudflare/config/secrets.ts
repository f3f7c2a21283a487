import type { NamedSecret } from '../../core/base/secrets.ts';
import type { KeyRecord } from '../auth/key.ts';
import { sourceNames } from '../wire/protocols/webhooks/source.ts';
import { endpointNames, toSecretName, type WorkerEnv } from './env.ts';
import { splitList } from './variables.ts';

/** The variables that hold a secret, or several. */
const names: readonly (keyof WorkerEnv & string)[] = [
	...endpointNames.map((name) => `${name}_API_KEY` as const),
	...sourceNames.map(toSecretName),
	'CALLBACK_SECRET',
	'SECRETS_KEY',
	'GITHUB_TOKEN',
	'BRAVE_API_KEY',
	'TAVILY_API_KEY',
	'SEARCH_API_KEY',
	'LOCAL',
];

/** Lists the secrets among the variables of Runlet. `keys` are the records of `API_KEYS`, whose secrets are the hashes. */
export function listSecrets(env: object, keys: readonly Pick<KeyRecord, 'hash'>[] = []): readonly NamedSecret[] {
	const ofAgents = Object.keys(env).filter((name) =>
		sourceNames.some((one) => name.startsWith(`${toSecretName(one)}_`)),
	);
	return [
		...[...names, ...ofAgents].flatMap((name) => read(env, name).map((value) => ({ name, value }))),
		...keys.map(({ hash }) => ({ name: 'API_KEYS', value: hash })),
	];
}

function read(env: object, name: string): readonly string[] {
	const value: unknown = Reflect.get(env, name);
	return typeof value === 'string' ? splitList(value) : [];
}
