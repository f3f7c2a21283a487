import type { DurableObject as Base } from 'cloudflare:workers';

type Platform = Pick<typeof import('cloudflare:workers'), 'DurableObject'>;

/** Loads the classes of the platform. Outside of Workers, where tests load an agent, they are empty. */
async function loadPlatform(): Promise<Platform> {
	try {
		return await import('cloudflare:workers');
	} catch {
		// SAFETY: Outside of Workers no Durable Object is created, so the class is never used.
		return { DurableObject: class {} } as unknown as Platform;
	}
}

export const { DurableObject } = await loadPlatform();
export type DurableObject<Env = unknown> = Base<Env>;
