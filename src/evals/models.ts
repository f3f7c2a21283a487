import * as v from 'valibot';
import { variables } from '../cloudflare/config/variables.ts';
import { check } from '../core/base/check.ts';
import { chat, type ProviderRegistration } from '../core/index.ts';
import { readProviders } from '../testing/providers.ts';

/** Variables, as `.dev.vars` has them. */
export type Variables = Readonly<Record<string, string | undefined>>;

const settings = v.pick(variables, ['MODEL']);

/** Reads the models that variables configure, and the one of agents that name none. Throws `not_configured`. */
export function readModels(env: Variables): {
	readonly providers: readonly ProviderRegistration[];
	readonly defaultModel: string;
} {
	const { MODEL: defaultModel } = check(settings, env, 'env', 'not_configured');
	return { providers: readProviders(env), defaultModel };
}

/** Throws for the first model that cannot be asked. The error names the variable that is missing. */
export function assertModels(models: Iterable<string>, providers: readonly ProviderRegistration[]): void {
	for (const model of models) {
		const obstacle = chat.findObstacle({ model, providers });
		if (obstacle !== undefined) throw obstacle;
	}
}
