import type { DurableObject as Base } from 'cloudflare:workers';

type Platform = Pick<typeof import('cloudflare:workers'), 'DurableObject'>;

/** Loads the classes of the platform. They are empty where tests load an agent outside of Workers. */
async function loadPlatform(): Promise<Platform> {
	try {
		return await import('cloudflare:workers');
	} catch {
		// SAFETY: Outside of Workers no object is ever made, so nothing of its class is used.
		return { DurableObject: class {} } as unknown as Platform;
	}
}

export const { DurableObject } = await loadPlatform();
export type DurableObject<Env = unknown> = Base<Env>;
