import * as v from 'valibot';
import { createProviders } from '../cloudflare/config/models.ts';
import { readEndpoint, variables } from '../cloudflare/config/variables.ts';
import { check } from '../core/base/check.ts';
import type { ProviderRegistration } from '../core/index.ts';
import { noEnv } from '../core/tool/tool.ts';

const settings = v.pick(variables, ['PRICES', 'CHAT_MODELS']);

/**
 * Makes the providers that a Worker with these variables has, such as `ANTHROPIC_API_KEY` (docs/environment.md). Calls of
 * a provider without its key fail with the name of the variable. Throws `not_configured` for a wrong variable.
 */
export function readProviders(env: Readonly<Record<string, string | undefined>>): readonly ProviderRegistration[] {
	const whole = { ...noEnv, ...env };
	const { PRICES: prices, CHAT_MODELS: chatModels } = check(settings, env, 'env', 'not_configured');
	return createProviders({ prices, chatModels, ai: undefined, findEndpoint: (name) => readEndpoint(whole, name) });
}
