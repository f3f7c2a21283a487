/** The parser of event streams. The package holds a copy of it, because it asks for a newer Node than Runlet. */
export { createParser } from 'eventsource-parser';
