import type { DurableObject as Base } from 'cloudflare:workers';

type Platform = Pick<typeof import('cloudflare:workers'), 'DurableObject'> &
	Partial<Pick<typeof import('cloudflare:workers'), 'tracing'>>;

/** Loads what the platform has. Outside of Workers, where tests load an agent, its classes are empty. */
async function loadPlatform(): Promise<Platform> {
	try {
		return await import('cloudflare:workers');
	} catch {
		// SAFETY: Outside of Workers no Durable Object is created, so the class is never used.
		return { DurableObject: class {} } as unknown as Platform;
	}
}

/** `tracing` makes spans of the platform. Missing outside of Workers. */
export const { DurableObject, tracing } = await loadPlatform();
export type DurableObject<Env = unknown> = Base<Env>;
