import { canTalk, type ProviderRegistration, resolveRegistration } from '../../core/chat/index.ts';
import type { readiness } from '../wire/agent.ts';
import type { Shown } from '../wire/shown.ts';

/**
 * Whether a model is ready, and whose it is; nobody's if no provider knows it. If it is not ready, `needs` is the variable
 * to set, if setting it helps.
 */
export function describeReadiness(name: string, providers: readonly ProviderRegistration[]): Shown<typeof readiness> {
	const found = resolveRegistration({ model: name, providers });
	const ready = found !== undefined && canTalk(found);
	return {
		name,
		...(found !== undefined && { provider: found.displayName }),
		ready,
		...(!ready && found?.needs !== undefined && { needs: found.needs }),
	};
}
