import type { ReactNode } from 'react';

interface CardProps {
  readonly title: string;
  readonly children: ReactNode;
  readonly tone?: 'failed' | 'warning';
}

export function Card({ title, children, tone }: CardProps) {
  return (
    <section className={tone ? `card ${tone}` : 'card'} aria-label={title}>
      <h2 className="card-title">{title}</h2>
      {children}
    </section>
  );
}
