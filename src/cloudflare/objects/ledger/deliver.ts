import type { AlertRows } from './alerts.ts';
import type { AlertSender, OutgoingAlert } from './spending-alert.ts';

/** Alerts that are delivered at once. */
const atOnce = 6;

/** Delivers the alerts that are due. What fails is due again later. Those to whom nobody listens any more are dropped. */
export async function deliverAlerts(rows: AlertRows, sender: AlertSender | undefined): Promise<void> {
	const attempt = async (outgoing: OutgoingAlert): Promise<void> => {
		const isWanted = sender?.receivers.includes(outgoing.receiver);
		const delayMs = isWanted ? await sender?.send(outgoing) : undefined;
		if (delayMs === undefined) rows.remove(outgoing.id);
		else rows.retry(outgoing.id, Date.now() + delayMs);
	};
	await Promise.all(rows.listDue(Date.now(), atOnce).map(attempt));
}
